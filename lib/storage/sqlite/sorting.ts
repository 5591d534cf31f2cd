/** Sorts numbers in steps: a million of them at once block the event loop for 80 ms. */
export interface Sorting {
  /** The first numbers that are in their places. */
  readonly sorted: number
  /** Takes at most 4 ms for a million numbers. */
  advance(): void
}

/** The most numbers that one step sorts. */
const PART = 4_096

/** Sorts by incremental quicksort. The first numbers are in their places after a few steps. */
export function createSorting(numbers: Float64Array): Sorting {
  let sorted = 0
  /** The ends of the parts that are not sorted, the next part last. */
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

/** Moves the lesser numbers to the front. Returns their end: both parts have a number. */
function partition(numbers: Float64Array, start: number, end: number): number {
  const at = (i: number) => numbers[i] as number
  // Random, so that no file can make the parts uneven.
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
