import { formatAmount, type ImportTotal } from '../lib/index.ts'
import type { Output } from './output.ts'

/** Prints the totals of an import, one line for each status and currency. */
export function printTotals(output: Output, totals: readonly ImportTotal[]): void {
  if (totals.length === 0) return
  const rows = totals.map(({ total, currency, ...group }) => ({
    ...group,
    currency,
    total: currency === '' ? '' : formatAmount(total, currency),
  }))
  output.line('\nTotals of the rows in the file; a purchase and its refund are two rows:')
  output.table(rows, ['status', 'currency', 'rows', 'total'])
}
