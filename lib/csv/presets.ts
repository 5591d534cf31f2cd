import type { PurchaseField, PurchaseStatus } from '../domain/purchase.ts'

/**
 * A cell of the row by its column's name as the preset writes it; '' when the file has no such
 * column.
 */
export type Cell = (column: string) => string

/**
 * A vendor's file: what tells it from others, and where the canonical fields come from. To add one,
 * add a row to `PRESETS`; see docs/import.md.
 */
export interface Preset {
  readonly name: string
  /** The columns that together tell this file from all others. */
  readonly signature: readonly string[]
  /** Where each field is read; of several columns the first that the file has. */
  readonly columns: { readonly [F in PurchaseField]?: string | readonly string[] }
  /** What the words of the status column mean, in lower case; without it `purchased`. */
  readonly statuses?: { readonly [word: string]: PurchaseStatus }
  /** Whether amounts are decimals in major units (`4.99`). */
  readonly price_unit: 'minor' | 'major'
  /** Columns that decide about a row and are not stored themselves. */
  readonly uses?: readonly string[]
  /** Fields that more than one cell decides, made anew for each file: it may remember rows. */
  readonly derive?: () => (cell: Cell, store: { readonly is_sandbox: boolean }) => Derived
  /** Why such a file can not be imported. */
  readonly refusal?: string
}

/** Canonical cells that replace those read from the columns, or the row is passed over. */
export type Derived = { readonly [F in PurchaseField]?: string } | 'passed over'

export const PRESETS: readonly Preset[] = [
  {
    // support.google.com/googleplay/android-developer: "Sales reports"
    name: 'google_play_sales',
    signature: ['Order Number', 'Order Charged Timestamp', 'Financial Status', 'SKU ID'],
    columns: {
      transaction_id: 'Order Number',
      sku: 'SKU ID',
      purchased_at: 'Order Charged Timestamp',
      price: 'Charged Amount',
      currency: 'Currency of Sale',
      status: 'Financial Status',
    },
    statuses: { charged: 'purchased', refund: 'refunded', refunded: 'refunded' },
    price_unit: 'major',
    derive: () => (cell) => ({
      transaction_id: joinKey(cell('Order Number'), cell('SKU ID')),
    }),
  },
  {
    // revenuecat.com/docs: "Scheduled data exports", transactions; times are UTC without saying so
    name: 'revenuecat_transactions',
    signature: ['rc_original_app_user_id', 'store_transaction_id', 'product_identifier'],
    columns: {
      transaction_id: 'store_transaction_id',
      sku: 'product_identifier',
      purchased_at: 'start_time',
      user_id: 'rc_original_app_user_id',
      price: 'price_in_purchased_currency',
      currency: 'purchased_currency',
    },
    price_unit: 'major',
    uses: ['is_sandbox', 'refunded_at', 'renewal_number'],
    derive: () => (cell, store) => {
      const is_sandbox = /^(true|t|1)$/i.test(cell('is_sandbox'))
      if (is_sandbox !== store.is_sandbox) return 'passed over'
      return {
        transaction_id: joinKey(cell('store_transaction_id'), cell('renewal_number')),
        purchased_at: inUtc(cell('start_time')),
        status: cell('refunded_at') === '' ? 'purchased' : 'refunded',
      }
    },
  },
  {
    // docs.stripe.com: "Export payments"; the SKU is metadata that the seller has set
    name: 'stripe_payments',
    signature: ['id', 'Created date (UTC)', 'Amount', 'Status', 'sku (metadata)'],
    columns: {
      transaction_id: 'id',
      sku: 'sku (metadata)',
      purchased_at: 'Created date (UTC)',
      user_id: 'Customer ID',
      price: 'Amount',
      currency: 'Currency',
      status: 'Status',
    },
    statuses: {
      paid: 'purchased',
      'partial refund': 'purchased',
      refunded: 'refunded',
      pending: 'pending',
      uncaptured: 'pending',
      'requires capture': 'pending',
      canceled: 'cancelled',
      failed: 'cancelled',
      blocked: 'cancelled',
    },
    price_unit: 'major',
    derive: () => (cell) => ({
      purchased_at: inUtc(cell('Created date (UTC)')),
      currency: cell('Currency').toUpperCase(),
    }),
  },
  {
    // help.shopify.com: "Exporting orders"; a row a line item, the order told on its first row only
    name: 'shopify_orders',
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
    price_unit: 'major',
    uses: ['Name', 'Created at', 'Cancelled at'],
    derive: shopifyOrders,
  },
  {
    name: 'app_store_sales',
    signature: ['Provider', 'SKU', 'Product Type Identifier', 'Units', 'Developer Proceeds'],
    columns: {},
    price_unit: 'major',
    refusal:
      'App Store summary sales reports are sums without transaction ids, so no purchase can be told from another; export transactions instead',
  },
]

function joinKey(id: string, part: string): string {
  return id === '' || part === '' ? id : `${id}/${part}`
}

function inUtc(time: string): string {
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(time) ? `${time}Z` : time
}

const ORDER_COLUMNS = [
  'Id',
  'Financial Status',
  'Paid at',
  'Created at',
  'Currency',
  'Cancelled at',
]

/** Carries an order's own cells down to its further line items, which are numbered as its keys. */
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
      purchased_at: shopifyTime(order['Paid at'] || order['Created at'] || ''),
      currency: order.Currency ?? '',
      status: order['Cancelled at'] ? 'cancelled' : (order['Financial Status'] ?? ''),
      price: multiply(cell('Lineitem price'), cell('Lineitem quantity')),
    }
  }
}

// "2024-01-15 10:22:33 -0500"
function shopifyTime(time: string): string {
  return time.replace(/ ([+-]\d{4}|UTC)$/, (zone) => (zone === ' UTC' ? 'Z' : zone.trim()))
}

const MAX_PRICE_LENGTH = 64

/** A unit price times a quantity, on the digits; the unit price where that can not be done. */
function multiply(price: string, quantity: string): string {
  // A BigInt of a million digits takes seconds.
  const isShort = price.length <= MAX_PRICE_LENGTH
  if (!isShort || !/^\d+(\.\d+)?$/.test(price) || !/^\d{1,7}$/.test(quantity)) return price
  const [whole = '', fraction = ''] = price.split('.')
  const digits = (BigInt(whole + fraction) * BigInt(quantity)).toString()
  const padded = digits.padStart(fraction.length + 1, '0')
  const at = padded.length - fraction.length
  return fraction === '' ? padded : `${padded.slice(0, at)}.${padded.slice(at)}`
}

/** The presets by name that a caller may ask for. */
export const PRESET_NAMES: readonly string[] = PRESETS.filter(({ refusal }) => !refusal).map(
  ({ name }) => name,
)
