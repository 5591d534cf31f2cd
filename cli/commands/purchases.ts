import { PURCHASE_STATUSES, type PurchaseInput, type PurchaseSummary } from '../../lib/index.ts'
import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { formatTotal } from '../import-totals.ts'
import { json } from '../option-values.ts'
import {
  ACCOUNT_OPTION,
  OUT_OPTION,
  PAGE_OPTIONS,
  SELECTION_OPTIONS,
  STORE_OPTIONS,
  SUMMARY_OPTIONS,
} from '../options.ts'
import { createExport } from '../output-file.ts'
import { createStatusLine, withElapsed } from '../progress.ts'
import { withSkuHint } from '../unknown-skus.ts'

export const purchaseCommands = [
  command({
    name: 'purchases record',
    summary: 'Record one purchase; repeat it safely with the same transaction id',
    example:
      'tillkit purchases record --store main --transaction-id T-1 \\\n  --sku sword --purchased-at 2026-01-31T12:00:00Z',
    options: {
      ...STORE_OPTIONS,
      'transaction-id': { value: 'ID', required: true, help: 'unique in the store' },
      sku: { value: 'SKU', required: true, help: 'the name of an item of the store' },
      'purchased-at': {
        value: 'TIME',
        required: true,
        help: 'with its zone: 2026-01-31T12:00:00Z',
      },
      user: { value: 'ID', help: 'the user who bought it' },
      quantity: { value: 'N', help: 'default 1' },
      price: { value: 'DIGITS', help: 'in minor units: 499 for 4.99' },
      currency: { value: 'CODE', help: "default with a price: the store's currency" },
      status: {
        value: 'S',
        choices: PURCHASE_STATUSES,
        help: 'purchased (the default), pending, refunded or cancelled',
      },
      metadata: { value: 'JSON|@FILE', parse: json, help: 'any JSON object' },
      'expires-at': { value: 'TIME', help: 'the end of a subscription; owned until then' },
      grant: { field: 'is_grant', help: 'a gift: it has no price, and is in no file of a vendor' },
    },
    async run(invocation) {
      const { till, account, input, output } = invocation
      const given = input satisfies Record<keyof PurchaseInput, unknown>
      const record = () => till.purchases.record(account, given)
      const recorded = await withSkuHint(invocation, given, record)
      return output.json ? recorded : { outcome: recorded.outcome, ...recorded.purchase }
    },
  }),

  command({
    name: 'purchases refund',
    summary: 'Refund a purchase, or all purchases of an order; safe to repeat',
    example: 'tillkit purchases refund GPA.3345-1234 --store main',
    operand: 'ID',
    options: STORE_OPTIONS,
    async run({ till, account, input, operand: transaction_id, output }) {
      const result = await till.purchases.refund(account, { ...input, transaction_id })
      if (output.json) return result
      return output.table(result.refunds, OUTCOME_COLUMNS)
    },
  }),

  command({
    name: 'purchases deliver',
    summary: 'Deliver a purchase, or all purchases of an order: "delivered" only once',
    example: 'tillkit purchases deliver GPA.3345-1234 --store main',
    operand: 'ID',
    options: STORE_OPTIONS,
    async run({ till, account, input, operand: transaction_id, output }) {
      const result = await till.purchases.deliver(account, { ...input, transaction_id })
      if (output.json) return result
      return output.table(result.deliveries, OUTCOME_COLUMNS)
    },
  }),

  command({
    name: 'purchases list',
    summary: 'List the purchases of a store in order of import, or find some by id or order id',
    example: 'tillkit purchases list --store main --user player-1 --status refunded',
    options: {
      ...ACCOUNT_OPTION,
      store: {
        value: 'ID',
        variable: 'TILLKIT_STORE',
        help: 'the store; without it, --transaction-id searches all stores',
      },
      'transaction-id': {
        value: 'ID',
        help: 'only the purchase with this id, or those of this order',
      },
      undelivered: { help: 'only those that must still be delivered' },
      ...SELECTION_OPTIONS,
      ...PAGE_OPTIONS,
    },
    async run({ till, account, input, output }) {
      const page = await till.purchases.list(account, input)
      const { purchases } = page
      output.page(
        page,
        purchases,
        [
          ...(input.store_id === undefined ? ['store_id'] : []),
          ...'transaction_id sku purchased_at user_id quantity price currency status'.split(' '),
          ...(purchases.some(({ expires_at }) => expires_at) ? ['expires_at'] : []),
        ],
        ['purchased_at…', 'expires_at…', 'quantity', 'user_id', 'currency', 'price'],
      )
    },
  }),

  command({
    name: 'purchases owned',
    summary: 'List what a user owns in a store, by item',
    example: 'tillkit purchases owned --user player-1 --store main',
    options: {
      ...STORE_OPTIONS,
      user: { value: 'ID', required: true, help: 'the user' },
      ...PAGE_OPTIONS,
    },
    async run({ till, account, input, output }) {
      const page = await till.purchases.owned(account, input)
      const columns = ['sku', 'type', 'quantity', 'first_purchased_at', 'last_purchased_at']
      const ends = page.owned.some(({ expires_at }) => expires_at) ? ['expires_at'] : []
      const narrowing = ['first_purchased_at…', 'last_purchased_at…', 'expires_at…', 'type']
      output.page(page, page.owned, [...columns, ...ends], narrowing)
    },
  }),

  command({
    name: 'purchases export',
    summary: 'Export the purchases of a store as CSV, which can be imported',
    example: 'tillkit purchases export --store main --from 2026-01-01 --out january.csv',
    options: { ...STORE_OPTIONS, ...SELECTION_OPTIONS, ...OUT_OPTION },
    async run({ till, account, input: { out, ...selection }, inputs, output, io }) {
      if (output.json) {
        throw new UsageError('purchases export writes CSV: use purchases list for --json')
      }
      const write = createExport({ io, inputs }, out)
      const csv = till.purchases.export(account, selection)
      if (out === undefined) return write(csv)
      const line = createStatusLine(io.stderr)
      let purchases = -1 // the first chunk is the header, not a purchase
      const counted = async function* () {
        for await (const chunk of csv) {
          purchases++
          line.update(() => `exported: ${purchases.toLocaleString('en-US')}`)
          yield chunk
        }
      }
      const name = () => {
        line.end()
        return purchases === 1 ? '1 purchase' : `${purchases.toLocaleString('en-US')} purchases`
      }
      await write(counted(), name).finally(line.end)
    },
  }),

  command({
    name: 'purchases summary',
    summary: 'Count purchases, revenue, refunds and buyers by month, item and currency',
    example: 'tillkit purchases summary --by day,sku --from 2026-01-01',
    options: SUMMARY_OPTIONS,
    async run({ till, account, input, output, io }) {
      const read = () => till.purchases.summarize(account, input)
      const summary = await withElapsed(io.stderr, 'Reading purchases', read)
      if (output.json) return { summaries: summary }
      const rows = summary.map((row) => ({
        ...row,
        revenue: formatTotal(row.revenue, row.currency),
        refunds: formatTotal(row.refunded_total, row.currency),
        ' ': barOf(row, summary),
      }))
      const groups = Object.keys(summary[0] ?? {}).filter((name) => GROUPS.includes(name))
      // An item that is sold in two currencies is two groups.
      if (input.top) {
        output.line(
          `The groups by ${groups.join(', ')} with the most purchases, at most ${input.top}:`,
        )
      }
      const columns = [
        ...groups,
        'purchased',
        'refunded',
        'revenue',
        ...(input.by ? MORE : []),
        ' ',
      ]
      return output.table(rows, columns, NARROWING)
    },
  }),
]

const OUTCOME_COLUMNS = ['transaction_id', 'sku', 'quantity', 'outcome']

const GROUPS = ['day', 'week', 'month', 'sku', 'store_id', 'currency']
const MORE = ['refunds', 'buyers']
const NARROWING = [' ', 'refunds', 'buyers', 'refunded', 'purchased']

const BAR_WIDTH = 16

/**
 * A bar that compares a row's revenue with the largest revenue. Without bars if the rows have several
 * currencies, because their amounts have no common scale.
 */
function barOf(row: PurchaseSummary, all: readonly PurchaseSummary[]): string {
  const currencies = new Set(all.map(({ currency }) => currency).filter((each) => each !== ''))
  const largest = Math.max(...all.map(({ revenue }) => Number(revenue)))
  return largest === 0 || currencies.size > 1
    ? ''
    : '#'.repeat(Math.round((Number(row.revenue) / largest) * BAR_WIDTH))
}
