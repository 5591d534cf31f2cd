/** Sorts numbers step by step, because sorting a million at once blocks the event loop for 0.1 s. */
export interface Sorting {
  /** Sorts until the first `count` numbers are in their places. Call it with growing counts. */
  sortFirst(count: number): void
}

/** The most numbers to sort in one step. */
const STEP = 4_096

/** Incremental quicksort. All numbers must differ, or the steps take more time. */
export function createSorting(numbers: Float64Array): Sorting {
  let sorted = 0
  /** The ends of the unsorted parts, the next part last. Each part is less than the one after it. */
  const ends = [numbers.length]

  const nextEnd = () => ends.at(-1) as number

  return {
    sortFirst(count) {
      while (sorted < Math.min(count, numbers.length)) {
        while (nextEnd() - sorted > STEP) ends.push(partition(numbers, sorted, nextEnd()))
        const end = ends.pop() as number
        numbers.subarray(sorted, end).sort()
        sorted = end
      }
    },
  }
}

/** Moves the lesser numbers to the front. Returns their end: both parts have a number. */
function partition(numbers: Float64Array, start: number, end: number): number {
  const at = (i: number) => numbers[i] as number
  // Random, so that no file can make the steps long.
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
