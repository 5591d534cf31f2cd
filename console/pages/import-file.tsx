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

/** A field to choose a file, or to drop one on. Its label names the file: the input would not. */
export function FileChoice({ title, prompt, accept, file, onChoose }: FileChoiceProps) {
  return (
    <label
      class="drop"
      onDrop={(event) => {
        const [dropped] = event.dataTransfer?.files ?? []
        if (!dropped || event.currentTarget.matches(':disabled *')) return
        event.preventDefault() // the page would take it for a file of purchases
        onChoose(dropped)
      }}
    >
      <input
        type="file"
        accept={accept}
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? []
          if (chosen) onChoose(chosen)
          currentTarget.value = '' // so that the same file can be chosen again
        }}
      />
      <span class="button">
        {title && `${title}: `}
        {file?.name ?? prompt}
      </span>
    </label>
  )
}
