import type { DifferenceGroup, PurchaseSide } from '../domain/reconciliation.ts'
import { formatRow, guard } from './write.ts'

const SIDE = ['sku', 'quantity', 'user_id', 'price', 'currency', 'status'] as const
const SIDES = ['stored', 'file'] as const
const COLUMNS = ['kind', 'transaction_id', 'line', 'purchased_at'] as const

/**
 * Formats the listed differences as a CSV file that is safe to open in a spreadsheet. An import
 * refuses it, because it lacks the columns of purchases.
 */
export function* formatDifferences(groups: readonly DifferenceGroup[]): Generator<string> {
  const names = SIDES.flatMap((side) => SIDE.map((field) => `${side}_${field}`))
  yield formatRow([...COLUMNS, ...names])
  for (const { first } of groups) {
    for (const difference of first) {
      const cells = SIDES.flatMap((side) => cellsOf(difference[side]))
      yield formatRow([...COLUMNS.map((name) => cellOf(difference[name])), ...cells])
    }
  }
}

function cellsOf(side: PurchaseSide | undefined): string[] {
  return SIDE.map((field) => cellOf(side?.[field]))
}

function cellOf(value: string | number | undefined): string {
  return guard(String(value ?? ''))
}
