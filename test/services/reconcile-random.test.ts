import assert from 'node:assert/strict'
import type { PurchaseStatus } from '../../lib/index.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createRandom } from '../support/random.ts'
import { createShop, fileOf } from '../support/till.ts'

const STATUSES = ['purchased', 'purchased', 'pending', 'refunded', 'cancelled'] as const
const PROGRESS = { pending: 0, purchased: 1, refunded: 2, cancelled: 2 }
const DAY = 86_400_000
const FROM = Date.UTC(2026, 6, 1)
const TO = Date.UTC(2026, 7, 1)

interface Sale {
  readonly id: string
  readonly at: number
  readonly status: PurchaseStatus
  readonly user: string
  readonly price: string
  readonly currency: string
  readonly is_grant: boolean
}

/** What the documentation says of a stored purchase and the only row with its id. */
function expectedKinds(stored: Sale | undefined, row: Sale | undefined): string[] {
  const isIn = (at: number, margin: number) => at >= FROM + margin && at < TO - margin
  if (!row) {
    const isJudged = stored?.status === 'purchased' && stored.price !== '0' && !stored.is_grant
    return isJudged && isIn(stored.at, 2 * DAY) ? ['missing_in_file'] : []
  }
  if (!isIn(row.at, 0)) return []
  if (!stored) {
    const isSold = row.status === 'purchased' || row.status === 'refunded'
    return isSold && row.price !== '0' ? ['missing_in_store'] : []
  }
  const differs = (field: 'user' | 'price' | 'currency') =>
    stored[field] !== '' && row[field] !== '' && stored[field] !== row[field]
  const [before, after] = [PROGRESS[stored.status], PROGRESS[row.status]]
  const isOther = after > before || (after === before && row.status !== stored.status)
  const isCancelled = stored.status === 'cancelled' && row.status === 'purchased'
  // Of a refund and a cancellation, nothing else is compared.
  if (after === before && isOther) return ['status']
  return [
    ...(isCancelled ? ['cancelled'] : []),
    ...(isOther ? ['status'] : []),
    ...(differs('price') || differs('currency') ? ['amount'] : []),
    ...(differs('user') ? ['user'] : []),
  ]
}

test('random stores and files differ as the documentation says', async (t) => {
  const random = createRandom()
  const pick = <T>(...values: readonly T[]) => values[Math.floor(random() * values.length)] as T
  const { till, account } = await createShop()
  const sale = (id: string): Sale => {
    const price = pick('', '0', '499', '499', '100')
    return {
      id,
      at: FROM + Math.floor((random() * 1.2 - 0.1) * (TO - FROM)),
      status: pick(...STATUSES),
      user: pick('', 'ann', 'bob'),
      price,
      currency: price === '' ? '' : pick('USD', 'USD', 'JPY'),
      is_grant: false,
    }
  }
  const textOf = ({ id, at, user, price, currency, status }: Sale) =>
    `${id},gold,${new Date(at).toISOString()},${user},${price},${currency},${status}\n`
  const header = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'
  const stored = new Map<string, Sale>()
  const rows = new Map<string, Sale>()
  // One sale is in both, so the file always has one in the period.
  const sure = { ...sale('T-0'), at: FROM + 10 * DAY, status: 'purchased' as const }
  stored.set('T-0', sure)
  rows.set('T-0', sure)
  for (let i = 1; i < 400; i++) {
    const id = `T-${i}`
    const first = sale(id)
    if (random() < 0.8) stored.set(id, { ...first, is_grant: i % 10 === 0 })
    if (random() < 0.8) rows.set(id, random() < 0.5 ? { ...sale(id), at: first.at } : first)
  }
  for (const [id, { is_grant, at, user, status, ...amount }] of stored) {
    if (!is_grant) continue
    stored.set(id, { ...amount, at, user, status, is_grant, price: '', currency: '' })
    await till.purchases.record(account, {
      ...{ store_id: 'main', sku: 'gold', transaction_id: id, user_id: user || undefined },
      ...{ status, purchased_at: at, is_grant: true },
    })
  }
  const recorded = [...stored.values()].filter(({ is_grant }) => !is_grant).map(textOf)
  await till.purchases.import(account, { store_id: 'main', file: fileOf(header, ...recorded) })

  const file = () => fileOf(header, ...[...rows.values()].map(textOf))
  const period = { from: '2026-07-01', to: '2026-08-01' }
  const found = await till.purchases.reconcile(account, {
    store_id: 'main',
    file: file(),
    ...period,
  })
  const all = new Set([...stored.keys(), ...rows.keys()])
  const expected = [...all].flatMap((id) =>
    expectedKinds(stored.get(id), rows.get(id)).map((kind) => `${kind} ${id}`),
  )
  const shown = found.differences.flatMap(({ kind, first }) =>
    first.map(({ transaction_id }) => `${kind} ${transaction_id}`),
  )
  assert.deepEqual(shown.sort(), expected.sort())
  for (const { kind, purchases, first, totals } of found.differences) {
    const sum = (side: 'stored' | 'file') =>
      first.reduce((total, difference) => total + (difference[side]?.price ?? 0), 0)
    const sums = [purchases, sum('stored'), sum('file')]
    const total = (key: 'purchases' | 'stored_total' | 'file_total') =>
      totals.reduce((all, each) => all + Number(each[key]), 0)
    const shownSums = [total('purchases'), total('stored_total'), total('file_total')]
    assert.deepEqual(shownSums, sums, kind)
  }
  const missing = [...stored].flatMap(([id, sale]) => (rows.has(id) ? [] : [sale]))
  const inPeriod = missing.filter(({ at }) => at >= FROM && at < TO)
  const unjudged = inPeriod.filter((sale) => expectedKinds(sale, undefined).length === 0)
  assert.equal(found.unjudged, unjudged.length)
  const compared = [...rows].flatMap(([id, row]) => {
    const sale = stored.get(id)
    return sale && row.at >= FROM && row.at < TO ? [[sale, row] as const] : []
  })
  assert.equal(found.compared, compared.length)
  const isOther = ([sale, row]: (typeof compared)[number]) =>
    sale.status !== row.status && PROGRESS[sale.status] === PROGRESS[row.status]
  const both = (field: 'price' | 'user') =>
    compared.filter((pair) => !isOther(pair) && pair.every((each) => each[field] !== '')).length
  assert.deepEqual([found.compared_amounts, found.compared_users], [both('price'), both('user')])
  t.diagnostic(`${expected.length} differences`)
})
