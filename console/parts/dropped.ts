import { useEffect } from 'preact/hooks'

let dropped: File | undefined
let take: ((file: File) => void) | undefined

/** Gives a file that was dropped on a page to the import, which may open only now. */
export function setDropped(file: File): void {
  if (take) take(file)
  else dropped = file
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
