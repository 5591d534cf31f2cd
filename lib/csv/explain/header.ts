import { conceptsOf } from './words.ts'

/**
 * Finds the header among the first lines of a file: the line with the most cells that are names of
 * columns in some language. Returns undefined if there is none.
 */
export function* findHeader(
  lines: readonly (readonly string[])[],
): Generator<undefined, readonly string[] | undefined> {
  let found: readonly string[] | undefined
  let most = -1
  for (const cells of lines) {
    if (cells.length < 2) continue
    const names = cells.filter((cell) => cell.length <= MAX_NAME && isName(cell)).length
    // Rows of values, and titles, have fewer names.
    if (names > most) [found, most] = [cells, names]
    yield
  }
  return found && (most > 0 || !found.some(isValue)) ? found : undefined
}

/** Whether a cell is rather a value than a name: a line of values is no header. */
function isValue(cell: string): boolean {
  return /^\W*\d|@/.test(cell)
}

const MAX_NAME = 64

function isName(cell: string): boolean {
  return !isValue(cell) && conceptsOf(cell).size > 0
}
