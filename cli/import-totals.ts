import { formatAmount, type ImportRecord } from '../lib/index.ts'
import type { Output } from './output.ts'

/** Prints the totals of an import, one line for each status and currency. */
export function printTotals(
  output: Output,
  {
    totals = [],
    others = 0,
    passed_over = 0,
  }: Pick<ImportRecord, 'totals' | 'others' | 'passed_over'>,
): void {
  if (totals.length === 0) return
  const rows = totals.map((each) => ({
    ...each,
    currency: each.currency || 'no price',
    total: formatTotal(each.total, each.currency),
  }))
  const counted = passed_over > 0 ? 'other rows' : 'rows in the file'
  output.line(`\nTotals of the ${counted}; a purchase and its refund are two rows:`)
  output.table(rows, ['status', 'currency', 'rows', 'total'])
  if (others > 0) output.line(`and ${others.toLocaleString('en-US')} rows of other groups`)
}

/** Formats a sum; '' for rows without a currency. */
export function formatTotal(total: string, currency: string): string {
  return currency === '' ? '' : formatAmount(total, currency)
}
