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

/** Takes the files that are dropped anywhere on the page. */
export function useDropped(choose: (file: File) => void): void {
  useEffect(() => {
    take = choose
    if (dropped) choose(dropped)
    dropped = undefined
    return () => {
      take = undefined
    }
  })
}
