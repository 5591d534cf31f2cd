import { useId, useState } from 'preact/hooks'
import { formatBytes } from '../format.ts'

interface FileChoiceProps {
  /** The purpose of the file, if it is not the one of the page. */
  readonly title?: string
  readonly type?: keyof typeof TYPES
  readonly file: File | undefined
  readonly onChoose: (file: File) => void
  readonly isDisabled: boolean
}

/** The endings and types of files, for the browser's dialog. */
const TYPES = { CSV: '.csv,.tsv,.txt,text/csv', JSON: '.json,application/json' }

/** A field for a file, onto which a file can also be dropped. */
export function FileChoice({ title, type = 'CSV', file, ...props }: FileChoiceProps) {
  const { onChoose, isDisabled } = props
  const id = useId()
  const [isOver, setOver] = useState(false)
  const drag = (isOver: boolean) => (event: DragEvent) => {
    event.preventDefault()
    setOver(isOver)
  }
  const drop = (event: DragEvent) => {
    drag(false)(event)
    const dropped = event.dataTransfer?.files[0]
    if (dropped && !isDisabled) onChoose(dropped)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would have a border and a legend
    <div
      role="group"
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={drag(true)}
      onDragLeave={drag(false)}
      onDrop={drop}
    >
      <input
        type="file"
        id={id}
        accept={TYPES[type]}
        disabled={isDisabled}
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? []
          if (chosen) onChoose(chosen)
          currentTarget.value = '' // so that the same file can be chosen again
        }}
      />
      {/* The label stands for the input, whose own text would not name a dropped file. */}
      <label for={id} class="button">
        {title && `${title}: `}
        {file
          ? `${file.name}, ${formatBytes(file.size)}`
          : `Drop a ${type} file here, or choose one`}
      </label>
    </div>
  )
}
