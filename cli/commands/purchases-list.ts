import { command } from '../command.ts'
import { ACCOUNT_OPTION, PAGE_OPTIONS, SELECTION_OPTIONS, selectionOf } from '../options.ts'

export const purchasesList = command({
  name: 'purchases list',
  summary: 'List the purchases of a store in order of import, or find one by its id',
  example: 'tillkit purchases list --store main --user player-1 --status refunded',
  options: {
    ...ACCOUNT_OPTION,
    store: {
      value: 'ID',
      variable: 'TILLKIT_STORE',
      help: 'the store; without it, --transaction-id searches all stores',
    },
    'transaction-id': { value: 'ID', help: 'only the purchase with this id' },
    ...SELECTION_OPTIONS,
    ...PAGE_OPTIONS,
  },
  async run({ till, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { store: store_id, 'transaction-id': transaction_id, limit, cursor } = options
    const selection = { store_id, transaction_id, ...selectionOf(options) }
    const page = await till.purchases.list(account, { ...selection, limit, cursor })
    const { purchases, next } = page
    if (output.json) return output.record(page)
    output.table(
      purchases,
      [
        ...(store_id === undefined ? ['store_id'] : []),
        ...'transaction_id sku purchased_at user_id quantity price currency status'.split(' '),
        ...(purchases.some(({ expires_at }) => expires_at) ? ['expires_at'] : []),
      ],
      {
        purchased_at: 'shorten',
        expires_at: 'shorten',
        quantity: 'omit',
        user_id: 'omit',
        currency: 'omit',
        price: 'omit',
      },
    )
    if (next) io.stderr.write(`There are more: --cursor ${next}\n`)
  },
})
