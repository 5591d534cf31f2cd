import type { Row } from './actions.ts'
import { timeOf } from './library.ts'

/** A purchase in the model. */
export interface Purchase {
  readonly transaction_id: string
  readonly sku: string
  readonly purchased_at: string
  readonly user_id?: string | undefined
  readonly quantity: number
  readonly price?: number | undefined
  readonly currency?: string | undefined
  readonly status: string
  readonly expires_at?: string | undefined
  /** The import that added it. */
  readonly import: number
}

/** The rank of each status. A purchase never moves to a lower rank. */
const STEP: { readonly [status: string]: number } = {
  pending: 0,
  purchased: 1,
  refunded: 2,
  cancelled: 2,
}

/** Returns a store's purchases after the import of this number, and the line numbers of bad rows. */
export function importRows(
  rows: readonly Row[],
  store: {
    readonly items: readonly { readonly name: string }[]
    readonly purchases: readonly Purchase[]
    readonly erased: ReadonlySet<string>
    readonly deleted: ReadonlySet<string>
  },
  currency: string | undefined,
  number: number,
) {
  const purchases = [...store.purchases]
  const lines: number[] = []
  const good: Purchase[] = []
  const counts = { added: 0, skipped: 0, updated: 0 }
  const seen = new Set<string>()
  const updated = new Set<string>()
  const repeated_lines: number[] = []
  const differences: string[] = []

  for (const [index, row] of rows.entries()) {
    const cells = readRow(row, currency)
    const sent = cells && { ...cells, import: number }
    const place = purchases.findIndex(({ transaction_id }) => transaction_id === row.transaction_id)
    const found = purchases[place]
    const isErased = store.erased.has(row.transaction_id)
    const stored = found && isErased ? { ...found, user_id: sent?.user_id } : found
    if (
      !sent ||
      !store.items.some(({ name }) => name === sent.sku) ||
      (stored && contradicts(stored, sent))
    ) {
      lines.push(index + 2)
      continue
    }
    const key = `${sent.transaction_id} ${sent.status}`
    const isRepeated = seen.has(key)
    if (store.deleted.has(row.transaction_id)) {
      counts.skipped++
    } else if (!stored) {
      purchases.push(sent)
      counts.added++
    } else {
      for (const field of OPTIONAL) {
        if (sent[field] === undefined || stored[field] === undefined) continue
        if (sent[field] !== stored[field]) differences.push(`${field} different`)
      }
      const isLater = (STEP[sent.status] ?? 0) > (STEP[stored.status] ?? 0)
      const fills = fillsOf(stored, sent)
      const outcome = isLater || fills ? 'updated' : 'skipped'
      const isFirst = stored.import !== number && !updated.has(sent.transaction_id)
      if (outcome === 'updated') {
        updated.add(sent.transaction_id)
        const status = isLater ? sent.status : stored.status
        purchases[place] = { ...(found as Purchase), ...fills, status }
      }
      if (isRepeated && !isLater) {
        repeated_lines.push(index + 2)
        // The purchase counts once: as updated instead of skipped.
        if (fills && isFirst) counts.skipped--
        if (fills && isFirst) counts.updated++
        continue
      }
      counts[outcome]++
    }
    if (!store.deleted.has(row.transaction_id)) seen.add(key)
    good.push(sent)
  }
  const about = {
    layout: 'canonical',
    passed_over: 0,
    repeated: repeated_lines.length,
    repeated_lines: repeated_lines.slice(0, 20),
    ignored_columns: [],
    passed_over_reasons: [],
    unequal: OPTIONAL.flatMap((field) =>
      ['missing', 'different'].flatMap((stored) => {
        const rows = differences.filter((each) => each === `${field} ${stored}`).length
        return rows > 0 ? [{ field, stored, rows }] : []
      }),
    ),
  }
  const times = good.map(({ purchased_at }) => purchased_at).sort()
  const [first_purchased_at] = times
  const period = first_purchased_at && { first_purchased_at, last_purchased_at: times.at(-1) }
  const totals = totalsOf(good, new Map(purchases.map((each) => [each.transaction_id, each])))
  const summary = { ...about, ...period, rows: good.length, ...counts, totals }
  return { purchases, lines, summary }
}

function readRow(row: Row, fallback: string | undefined) {
  const { transaction_id, sku } = row
  const price = row.price === '' ? undefined : Number(row.price)
  const currency = row.currency || (price === undefined ? undefined : fallback)
  if (price !== undefined && currency === undefined) return undefined
  const purchased_at = new Date(timeOf(transaction_id)).toISOString()
  const quantity = Number(row.quantity || 1)
  const status = row.status || 'purchased'
  const [user_id, expires_at] = [row.user_id || undefined, row.expires_at || undefined]
  const sale = { transaction_id, sku, purchased_at, user_id, quantity, price, currency }
  return { ...sale, status, expires_at }
}

const OPTIONAL = ['user_id', 'price', 'currency', 'expires_at'] as const

/** The values that only the row has. A currency comes with its price. */
function fillsOf(stored: Purchase, sent: Purchase): Partial<Purchase> | undefined {
  const fields = OPTIONAL.filter(
    (field) =>
      stored[field] === undefined &&
      sent[field] !== undefined &&
      (field !== 'currency' || sent.price !== undefined),
  )
  if (fields.length === 0) return undefined
  return Object.fromEntries(fields.map((field) => [field, sent[field]]))
}

function contradicts(stored: Purchase, sent: Purchase): boolean {
  const fields = ['sku', 'quantity', 'user_id', 'price', 'currency'] as const
  const isOther = fields.some(
    (field) =>
      stored[field] !== undefined && sent[field] !== undefined && stored[field] !== sent[field],
  )
  const areFinal = STEP[stored.status] === 2 && STEP[sent.status] === 2
  return isOther || (areFinal && stored.status !== sent.status)
}

/**
 * Totals per status and currency, sorted. A row without a price has that of its purchase, and no
 * currency if the purchase has no price.
 */
function totalsOf(sent: readonly Purchase[], purchases: ReadonlyMap<string, Purchase>) {
  const rows = sent.map((row) => {
    const { price, currency } =
      row.price === undefined ? (purchases.get(row.transaction_id) ?? row) : row
    return { status: row.status, price, currency }
  })
  const keyOf = ({ status, price, currency = '' }: (typeof rows)[number]) =>
    `${status} ${price === undefined ? '' : currency}`
  return [...new Set(rows.map(keyOf))].sort().map((key) => {
    const group = rows.filter((row) => keyOf(row) === key)
    const [status, currency] = key.split(' ')
    const total = group.reduce((sum, { price = 0 }) => sum + BigInt(price), 0n)
    return { status, currency, rows: group.length, total: String(total) }
  })
}
