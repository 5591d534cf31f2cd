/** Sorts numbers in steps: sorting a million at once would block the event loop for 80 ms. */
export interface Sorting {
  /** How many numbers at the start of the array have their final position. */
  readonly sorted: number
  /** Runs one step, which takes at most 4 ms for a million numbers. */
  advance(): void
}

/** The maximum length of a part of the array that one step sorts. */
const PART = 4_096

/** Sorts by incremental quicksort. The lowest numbers are sorted after a few steps. */
export function createSorting(numbers: Float64Array): Sorting {
  let sorted = 0
  /** The ends of the parts that are not sorted. The last end belongs to the first part. */
  const ends = [numbers.length]

  return {
    get sorted() {
      return sorted
    },
    advance() {
      const end = ends.at(-1)
      if (end === undefined) return
      if (end - sorted > PART) {
        ends.push(partition(numbers, sorted, end))
      } else {
        numbers.subarray(sorted, end).sort()
        sorted = end
        ends.pop()
      }
    },
  }
}

/** Moves lower numbers to the front. Returns where the upper part begins. No part is empty. */
function partition(numbers: Float64Array, start: number, end: number): number {
  const at = (i: number) => numbers[i] as number
  // A random pivot: nobody can write a file for which the parts are always uneven.
  const pivot = at(start + Math.floor(Math.random() * (end - start)))
  let left = start - 1
  let right = end
  for (;;) {
    do left++
    while (at(left) < pivot)
    do right--
    while (at(right) > pivot)
    if (left >= right) return Math.max(left, start + 1)
    const moved = at(left)
    numbers[left] = at(right)
    numbers[right] = moved
  }
}
