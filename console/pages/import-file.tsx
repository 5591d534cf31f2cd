import { useId } from 'preact/hooks'

interface FileChoiceProps {
  /** The purpose of the file, if it is not the one of the page. */
  readonly title?: string
  /** Shown until a file is chosen. */
  readonly prompt: string
  /** The endings and types of the files, for the browser's dialog. */
  readonly accept: string
  readonly file: File | undefined
  readonly onChoose: (file: File) => void
}

/** A field for a file. Its label names the chosen file, because the input would not. */
export function FileChoice({ title, prompt, accept, file, onChoose }: FileChoiceProps) {
  const id = useId()
  return (
    <div class="drop">
      <input
        type="file"
        {...{ id, accept }}
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? []
          if (chosen) onChoose(chosen)
          currentTarget.value = '' // so that the same file can be chosen again
        }}
      />
      <label for={id} class="button">
        {title && `${title}: `}
        {file?.name ?? prompt}
      </label>
    </div>
  )
}
