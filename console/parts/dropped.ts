import { useEffect } from 'preact/hooks'
import { goTo, linkTo, mayLeave } from '../place.ts'

let dropped: File | undefined
let take: ((file: File) => void) | undefined

/** Gives a file that was dropped on any page to the page of imports. Opens it if it is not open. */
export function importDropped(file: File): void {
  if (take) take(file)
  else if (mayLeave()) {
    dropped = file
    goTo(linkTo('import'))
  }
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
