/** The maximum number of ids that `number_repeats` counts in a file. They stay in memory. */
export const MAX_NUMBERED = 200_000

/**
 * Creates a function that numbers equal ids in the order of the file: `SQ1`, `SQ1/2`, `SQ1/3`. Counts
 * them for each status, so that the second refunded row has the id of the second sale. Returns
 * undefined for an id after `MAX_NUMBERED` others.
 */
export function createNumbering() {
  const counts = new Map<string, number>()
  return (id: string, status: string): string | undefined => {
    const key = `${status || 'purchased'} ${id}`
    const count = (counts.get(key) ?? 0) + 1
    if (count === 1 && counts.size >= MAX_NUMBERED) return undefined
    counts.set(key, count)
    return count === 1 ? id : `${id}/${count}`
  }
}
