import { formatAmount, type ImportTotal } from '../lib/index.ts'
import type { Output } from './output.ts'

/** Prints the rows of an import by status and currency. */
export function printTotals(output: Output, totals: readonly ImportTotal[]): void {
  const rows = totals.map(({ total, currency, ...group }) => ({
    ...group,
    currency,
    total: currency === '' ? '' : formatAmount(total, currency),
  }))
  output.table(rows, ['status', 'currency', 'rows', 'total'])
}
