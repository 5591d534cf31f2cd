import type { PurchaseStatus } from '../../domain/purchase.ts'
import { type Column, cellOf } from './columns.ts'
import type { Row } from './ids.ts'
import { flagOf, statusOf } from './words.ts'

const MAX_WORD = 64

/** Whether a layout can have a text as a word. An import reports the rows with others. */
function isWord(text: string): boolean {
  return text.length <= MAX_WORD && !text.includes('\0')
}

/** The meaning of each word of a status column. */
export interface Statuses {
  readonly column: Column
  readonly known: ReadonlyMap<string, PurchaseStatus>
  /** Words of unknown meaning, each with its number of rows. */
  readonly unknown: readonly (readonly [word: string, rows: number])[]
  /** Whether no word is known: all words then count as purchased. */
  readonly isAssumed: boolean
}

/** Maps the words that some rows have to statuses. Returns undefined if there is no word. */
export function findStatuses(
  column: Column,
  rows: readonly Row[],
  isNegative: (row: Row) => boolean,
): Statuses | undefined {
  const counts = new Map<string, number>()
  const positive = new Set<string>()
  for (const row of rows) {
    const word = cellOf(row, column.at)
    counts.set(word, (counts.get(word) ?? 0) + 1)
    if (!positive.has(word) && !isNegative(row)) positive.add(word)
  }
  // A row without a word of its own is a sale: `Refunded?`.
  const isFlag = column.concepts.has('refund') && [...counts.keys()].every(isFlagOrEmpty)
  const read = (word: string): PurchaseStatus | undefined => {
    if (!isWord(word)) return undefined
    const status = isFlag ? (flagOf(word) ? 'refunded' : 'purchased') : statusOf(word)
    // No sale has a negative amount: `Partial refund`.
    return status === 'purchased' && !positive.has(word) ? undefined : status
  }
  const entries = [...counts].map(([word, count]) => ({ word, count, status: read(word) }))
  const known = entries.flatMap(({ word, status }) => (status ? [[word, status] as const] : []))
  const unknown = entries.flatMap(({ word, count, status }) =>
    status === undefined && isWord(word) ? [[word, count] as const] : [],
  )
  const isAssumed = known.length === 0
  if (isAssumed && unknown.length === 0) return undefined
  const assumed = unknown.map(([word]) => [word, 'purchased'] as const)
  return { column, known: new Map(isAssumed ? assumed : known), unknown, isAssumed }
}

function isFlagOrEmpty(word: string): boolean {
  return word === '' || flagOf(word) !== undefined
}
