interface FileChoiceProps {
  /** Shown until a file is chosen. */
  readonly prompt: string
  readonly file: File | undefined
  readonly onChoose: (file: File) => void
}

/** A field to choose a file. Its label names the file: the input would not. */
export function FileChoice({ prompt, file, onChoose }: FileChoiceProps) {
  return (
    <label class="drop">
      <input
        type="file"
        accept=".csv,.tsv,.txt,.json,text/csv"
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? []
          if (chosen) onChoose(chosen)
          currentTarget.value = '' // so that the same file can be chosen again
        }}
      />
      <span class="button">{file?.name ?? prompt}</span>
    </label>
  )
}
