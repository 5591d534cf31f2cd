import { PRESET_NAMES, type PresetName } from '../domain/preset.ts'
import type { PurchaseField, PurchaseStatus } from '../domain/purchase.ts'

/** Returns the row's cell in a column of the preset, or '' if the file lacks the column. */
export type Cell = (column: string) => string

/**
 * A vendor's file format: how to recognise it, and which columns hold the canonical fields. To add
 * a format, see docs/import.md.
 */
interface Format {
  /** The columns that together identify this format. */
  readonly signature: readonly string[]
  /** The possible names of each field's column. The first one that the file has is used. */
  readonly columns: { readonly [F in PurchaseField]?: string | readonly string[] }
  /**
   * The purchase status for each lower-case text in the status column. By default, the column has
   * tillkit's own statuses.
   */
  readonly statuses?: { readonly [word: string]: PurchaseStatus }
  /** Whether amounts are in minor units (`499`) or decimals in major ones (`4.99`). */
  readonly price_unit: 'minor' | 'major'
  /** Columns that `derive` reads. They are not listed as ignored columns. */
  readonly uses?: readonly string[]
  /** Called once per file. The returned function derives cells from this row and earlier rows. */
  readonly derive?: () => (cell: Cell, store: { readonly is_sandbox: boolean }) => Derived
}

export interface Preset extends Format {
  readonly name: PresetName
}

/** Cells that replace the row's canonical cells, or 'passed over' to leave the row out. */
export type Derived = { readonly [F in PurchaseField]?: string } | 'passed over'

const FORMATS: { readonly [N in PresetName]: Format } = {
  // Documented at support.google.com/googleplay/android-developer: "Sales reports".
  google_play_sales: {
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
  // Documented at revenuecat.com/docs: "Scheduled data exports". Times without a zone are UTC.
  revenuecat_transactions: {
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
  // Documented at docs.stripe.com: "Export payments". The seller stores the SKU as metadata.
  stripe_payments: {
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
    price_unit: 'major',
    uses: ['Name', 'Created at', 'Cancelled at'],
    derive: shopifyOrders,
  },
}

export const PRESETS: readonly Preset[] = PRESET_NAMES.map((name) => ({ name, ...FORMATS[name] }))

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
      purchased_at: shopifyTime(order['Paid at'] || order['Created at'] || ''),
      currency: order.Currency ?? '',
      status: order['Cancelled at'] ? 'cancelled' : (order['Financial Status'] ?? ''),
      price: multiply(cell('Lineitem price'), cell('Lineitem quantity')),
    }
  }
}

// Removes the blank before the zone of `2024-01-15 10:22:33 -0500`, and replaces ` UTC` by `Z`.
function shopifyTime(time: string): string {
  return time.replace(/ ([+-]\d{4}|UTC)$/, (zone) => (zone === ' UTC' ? 'Z' : zone.trim()))
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
