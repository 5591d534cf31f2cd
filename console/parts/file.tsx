import { useEffect } from 'preact/hooks'
import { goTo, linkTo, mayLeave } from '../place.ts'

let dropped: File | undefined
let take: ((file: File) => void) | undefined

/** Gives a file that was dropped on any page to a page that takes files, or to that of imports. */
export function importDropped(file: File): void {
  if (take) take(file)
  else openImport(file)
}

/** Opens the page of imports with a file. */
export function openImport(file: File): void {
  if (!mayLeave()) return
  dropped = file
  goTo(linkTo('import'))
}

interface FileChoiceProps {
  /** The prompt, or the name of the chosen file: the input does not show it. */
  readonly label: string
  readonly onChoose: (file: File) => void
}

/** A field to choose a file, which can also be dropped anywhere on the page. */
export function FileChoice({ label, onChoose }: FileChoiceProps) {
  useEffect(() => {
    take = onChoose
    if (dropped) onChoose(dropped)
    dropped = undefined
    return () => {
      take = undefined
    }
  })
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
      <span class="button">{label}</span>
    </label>
  )
}
