import { formatAmount, type PurchaseSummary } from '../../lib/index.ts'
import { command } from '../command.ts'
import { PURCHASE_OPTIONS, purchaseQuery } from '../options.ts'

export const purchasesSummary = command({
  name: 'purchases summary',
  summary: 'Count purchases and revenue by month, item and currency',
  example: 'tillkit purchases summary --store main --from 2026-01-01',
  options: PURCHASE_OPTIONS,
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const summary = await till.purchases.summarize(account, purchaseQuery(options))
    if (output.json) return output.record(summary)
    const rows = summary.map((row) => ({
      ...row,
      revenue: row.currency === '' ? '' : formatAmount(row.revenue, row.currency),
      ' ': barOf(row, summary),
    }))
    output.table(rows, ['month', 'sku', 'currency', 'purchased', 'refunded', 'revenue', ' '], {
      ' ': 'omit',
      refunded: 'omit',
      purchased: 'omit',
    })
  },
})

const BAR_WIDTH = 16

/** A bar that compares a row's revenue with the largest revenue in the same currency. */
function barOf(row: PurchaseSummary, all: readonly PurchaseSummary[]): string {
  const ofCurrency = all.filter(({ currency }) => currency === row.currency)
  const largest = Math.max(...ofCurrency.map(({ revenue }) => Number(revenue)))
  return largest === 0 ? '' : '#'.repeat(Math.round((Number(row.revenue) / largest) * BAR_WIDTH))
}
