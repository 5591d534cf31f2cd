import { formatAmount, type ImportTotal } from '../lib/index.ts'
import type { Output } from './output.ts'

/** Prints the totals of an import, one line for each status and currency. */
export function printTotals(output: Output, totals: readonly ImportTotal[], others = 0): void {
  if (totals.length === 0) return
  const rows = totals.map((each) => ({
    ...each,
    currency: each.currency || 'no price',
    total: formatTotal(each.total, each.currency),
  }))
  output.line('\nTotals of the rows in the file; a purchase and its refund are two rows:')
  output.table(rows, ['status', 'currency', 'rows', 'total'])
  if (others > 0) output.line(`and ${others.toLocaleString('en-US')} rows of other groups`)
}

/** Formats a sum; '' for rows without a currency. */
export function formatTotal(total: string, currency: string): string {
  return currency === '' ? '' : formatAmount(total, currency)
}
