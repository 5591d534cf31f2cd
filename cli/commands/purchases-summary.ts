import { formatAmount, type PurchaseSummary } from '../../lib/index.ts'
import { command } from '../command.ts'
import { SUMMARY_OPTIONS, selectionOf } from '../options.ts'
import { createElapsed } from '../progress.ts'

export const purchasesSummary = command({
  name: 'purchases summary',
  summary: 'Count purchases, revenue, refunds and buyers by month, item and currency',
  example: 'tillkit purchases summary --by day,sku --from 2026-01-01',
  options: SUMMARY_OPTIONS,
  async run({ till, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { store: store_id, sandbox, by } = options
    const query = { store_id, sandbox, by, ...selectionOf(options) }
    const elapsed = createElapsed(io.stderr, 'Reading purchases')
    const summary = await till.purchases.summarize(account, query).finally(elapsed.end)
    if (output.json) return output.record(summary)
    const rows = summary.map((row) => ({
      ...row,
      revenue: formatTotal(row.revenue, row.currency),
      refunds: formatTotal(row.refunded_total, row.currency),
      ' ': barOf(row, summary),
    }))
    const groups = Object.keys(summary[0] ?? {}).filter((name) => GROUPS.includes(name))
    const columns = [...groups, 'purchased', 'refunded', 'revenue', ...(by ? MORE : []), ' ']
    output.table(rows, columns, NARROWING)
  },
})

const GROUPS = ['day', 'week', 'month', 'sku', 'store_id', 'currency']
const MORE = ['refunds', 'buyers']
const NARROWING = {
  ' ': 'omit',
  refunds: 'omit',
  buyers: 'omit',
  refunded: 'omit',
  purchased: 'omit',
} as const

function formatTotal(total: string, currency: string): string {
  return currency === '' ? '' : formatAmount(total, currency)
}

const BAR_WIDTH = 16

/** A bar that compares a row's revenue with the largest revenue in the same currency. */
function barOf(row: PurchaseSummary, all: readonly PurchaseSummary[]): string {
  const ofCurrency = all.filter(({ currency }) => currency === row.currency)
  const largest = Math.max(...ofCurrency.map(({ revenue }) => Number(revenue)))
  return largest === 0 ? '' : '#'.repeat(Math.round((Number(row.revenue) / largest) * BAR_WIDTH))
}
