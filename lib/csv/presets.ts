import type { PassedOver } from '../domain/import.ts'
import { PRESET_NAMES, type PresetName } from '../domain/preset.ts'
import { PURCHASE_STATUSES } from '../domain/purchase.ts'
import type { Cell, Derived, Format } from './format.ts'

/** A vendor's file format. To add a format, see CONTRIBUTING.md. */
export interface Preset extends Format {
  /** The columns that together identify this format. Of several names, the file has one. */
  readonly signature: readonly (string | readonly string[])[]
}

const OTHER_ENVIRONMENT: PassedOver = { reason: 'other_environment' }
const UNPAID: PassedOver = { reason: 'unpaid' }
const PARTIAL_REFUND: PassedOver = { reason: 'partial_refund' }

const STRIPE_TIMES = ['Created date (UTC)', 'Created (UTC)']

const FORMATS: { readonly [N in PresetName]: Omit<Preset, 'name'> } = {
  // Documented at support.google.com/googleplay/android-developer: "Estimated sales reports".
  google_play_sales: {
    signature: ['Order Number', 'Order Charged Timestamp', 'Financial Status', 'SKU ID'],
    columns: {
      transaction_id: 'Order Number',
      sku: 'SKU ID',
      purchased_at: 'Order Charged Timestamp',
      price: 'Charged Amount',
      currency: ['Currency of Sale', 'Buyer Currency'],
      status: 'Financial Status',
    },
    // Without it, all sales would count 0.
    required: ['price'],
    statuses: { charged: 'purchased', refund: 'refunded', refunded: 'refunded' },
    skip: { 'Financial Status': { 'partial refund': PARTIAL_REFUND } },
    app: ['Package ID', 'Product ID'],
    setsPeriod: true,
    skuless: PURCHASE_STATUSES,
    price_unit: 'major',
    decimal: '.',
    derive: () => (cell) => ({
      transaction_id: joinKey(cell('Order Number'), cell('SKU ID')),
    }),
  },
  // Documented at revenuecat.com/docs: "Scheduled data exports". Times without a zone are UTC.
  revenuecat_transactions: {
    signature: ['rc_original_app_user_id', 'store_transaction_id', 'product_identifier'],
    columns: {
      transaction_id: 'store_transaction_id',
      sku: 'product_identifier',
      purchased_at: 'start_time',
      user_id: 'rc_original_app_user_id',
      // The second column becomes 0 when the purchase is refunded (export version 4).
      price: ['purchase_price_in_purchased_currency', 'price_in_purchased_currency'],
      currency: 'purchased_currency',
    },
    price_unit: 'major',
    decimal: '.',
    times: { zone: 'UTC' },
    // Each export has the alias of that day, and old versions stored other prices.
    comparison: 'product',
    uses: [
      'is_sandbox',
      'refunded_at',
      'renewal_number',
      'effective_end_time',
      'end_time',
      'price_in_purchased_currency',
      'rc_last_seen_app_user_id_alias',
    ],
    derive: (store) => (cell) => {
      const is_sandbox = /^(true|t|1)$/i.test(cell('is_sandbox'))
      const users = [cell('rc_original_app_user_id'), cell('rc_last_seen_app_user_id_alias')]
      return {
        transaction_id: joinKey(cell('store_transaction_id'), cell('renewal_number')),
        user_id: users.find((user) => !user.startsWith('$RCAnonymousID:')) ?? '',
        status: cell('refunded_at') === '' ? 'purchased' : 'refunded',
        expires_at: cell('effective_end_time') || cell('end_time'),
        passedOver: is_sandbox === store.is_sandbox ? undefined : OTHER_ENVIRONMENT,
      }
    },
  },
  // Documented at docs.stripe.com: "Export payments". The seller stores the SKU as metadata.
  stripe_payments: {
    signature: ['id', STRIPE_TIMES, 'Amount', 'Status', 'sku (metadata)'],
    columns: {
      transaction_id: 'id',
      sku: 'sku (metadata)',
      purchased_at: STRIPE_TIMES,
      user_id: 'Customer ID',
      price: 'Amount',
      currency: 'Currency',
      status: 'Status',
    },
    statuses: {
      paid: 'purchased',
      'partial refund': 'purchased',
      disputed: 'purchased',
      refunded: 'refunded',
      pending: 'pending',
      uncaptured: 'pending',
      'requires capture': 'pending',
      canceled: 'cancelled',
      failed: 'cancelled',
      blocked: 'cancelled',
    },
    skip: { Status: { incomplete: UNPAID, 'requires payment method': UNPAID } },
    skuless: ['cancelled'],
    price_unit: 'major',
    decimal: '.',
    times: { zone: 'UTC' },
    uses: ['Mode'],
    derive: (store) => (cell) => {
      const other = store.is_sandbox ? 'live' : 'test'
      const isOther = cell('Mode').toLowerCase() === other
      return { passedOver: isOther ? OTHER_ENVIRONMENT : undefined }
    },
  },
  // Documented at help.shopify.com: "Exporting orders". One row per line item. Only the first row
  // of an order has the cells about the whole order.
  shopify_orders: {
    signature: ['Name', 'Financial Status', 'Lineitem name', 'Lineitem price', 'Lineitem sku'],
    columns: {
      transaction_id: ['Id', 'Name'],
      sku: 'Lineitem sku',
      purchased_at: ['Paid at', 'Created at'],
      quantity: 'Lineitem quantity',
      price: 'Lineitem price',
      currency: 'Currency',
      status: 'Financial Status',
    },
    statuses: {
      paid: 'purchased',
      partially_refunded: 'purchased',
      refunded: 'refunded',
      pending: 'pending',
      authorized: 'pending',
      partially_paid: 'pending',
      voided: 'cancelled',
      cancelled: 'cancelled',
    },
    skuless: PURCHASE_STATUSES,
    price_unit: 'major',
    decimal: '.',
    times: {},
    uses: ['Name', 'Created at', 'Cancelled at'],
    derive: shopifyOrders,
  },
}

export const PRESETS: readonly Preset[] = PRESET_NAMES.map((name) => ({ name, ...FORMATS[name] }))

function joinKey(id: string, part: string): string {
  return id === '' || part === '' ? id : `${id}/${part}`
}

const ORDER_COLUMNS = [
  'Id',
  'Financial Status',
  'Paid at',
  'Created at',
  'Currency',
  'Cancelled at',
]

/** Copies an order's cells to its further line items. Numbers the items to give them unique ids. */
function shopifyOrders() {
  let name = ''
  let lineItem = 0
  let order: { [column: string]: string } = {}
  return (cell: Cell): Derived => {
    if (lineItem === 0 || cell('Name') !== name) {
      name = cell('Name')
      lineItem = 0
      order = Object.fromEntries(ORDER_COLUMNS.map((column) => [column, cell(column)]))
    }
    lineItem++
    const key = order.Id || name
    return {
      transaction_id: key === '' ? '' : `${key}/${lineItem}`,
      purchased_at: order['Paid at'] || order['Created at'] || '',
      currency: order.Currency ?? '',
      status: order['Cancelled at'] ? 'cancelled' : (order['Financial Status'] ?? ''),
      price: multiply(cell('Lineitem price'), cell('Lineitem quantity')),
    }
  }
}

const MAX_PRICE_LENGTH = 64

/** The exact product of unit price and quantity, or the unit price if either is malformed. */
function multiply(price: string, quantity: string): string {
  // Multiplies only a short price: creating a BigInt of a million digits takes seconds.
  const isShort = price.length <= MAX_PRICE_LENGTH
  if (!isShort || !/^\d+(\.\d+)?$/.test(price) || !/^\d{1,7}$/.test(quantity)) return price
  const [whole = '', fraction = ''] = price.split('.')
  const digits = (BigInt(whole + fraction) * BigInt(quantity)).toString()
  const padded = digits.padStart(fraction.length + 1, '0')
  const at = padded.length - fraction.length
  return fraction === '' ? padded : `${padded.slice(0, at)}.${padded.slice(at)}`
}
