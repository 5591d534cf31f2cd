import type { NewItem } from '../../lib/index.ts'

/** The game whose sales the files have. */
export const BUNDLE_ID = 'com.example.demo'

export interface SalesOptions {
  /** The time of the export. The sales begin 13 months before its month. */
  readonly now: number
  /** How many purchases the file has, with renewals; default 2,000. */
  readonly purchases?: number
  /** The same seed makes the same sales; default 1. */
  readonly seed?: number
}

type ShopItem = ReturnType<typeof shopItem>

/**
 * An item, how often it sells compared with the others, and the ends of its product ids at Google
 * Play. The second of them is the one before the last 200 days.
 */
const shopItem = (
  name: string,
  display_name: string,
  price: string,
  type: NewItem['type'],
  weight: number,
  ...ids: [current: string, older?: string]
) => {
  const [current, older = current] = ids.map((id) => `${BUNDLE_ID}.${id}`) as [string, string?]
  return { item: { name, display_name, price, type }, weight, current, older }
}

const LONG_NAME =
  'Starter Bundle: 500 Gold, 3 Healing Potions, the Bronze Sword of the First Guild and 7 days of double experience for new heroes'

const SHOP = [
  shopItem('gold_100', '100 Gold', '499', 'consumable', 24, 'gold.100', 'gold_pack'),
  shopItem('potion', 'Healing Potion', '99', 'consumable', 26, 'potion'),
  shopItem('skin_dragon', 'Dragon Skin', '1299', 'non_consumable', 5, 'skin.dragon'),
  shopItem('season_pass', 'Season Pass', '999', 'subscription', 6, 'pass.monthly'),
  shopItem('gems_80', '💎 80 Gems', '199', 'consumable', 14, 'gems.80'),
  shopItem('gems_1200', '💎💎 1,200 Gems', '1999', 'consumable', 4, 'gems.1200'),
  shopItem('starter_bundle', LONG_NAME, '299', 'non_consumable', 8, 'bundle.starter'),
  shopItem('lantern_night', 'فانوس الليل الذهبي', '399', 'non_consumable', 3, 'lantern.night'),
  shopItem('map_ruins', 'מפת החורבות (Ruins)', '199', 'non_consumable', 3, 'map.ruins'),
  shopItem('mask_kitsune', '狐の面 🦊', '699', 'non_consumable', 3, 'mask.kitsune'),
  shopItem('chest_royal', '"Königliche" Truhe 👑', '9999', 'consumable', 1, 'chest.royal'),
  shopItem('vip_month', 'VIP Club, 1 month', '599', 'subscription', 5, 'vip:p1m'),
]

/** Each product as often as its weight says. */
const PICKS = SHOP.flatMap((product) => Array<ShopItem>(product.weight).fill(product))

/** The items of the shop. */
export const ITEMS: readonly Omit<NewItem, 'store_id'>[] = SHOP.map(({ item }) => item)

/** A product of the studio's testers, which is no item of the shop. */
const TEST_SKU = `${BUNDLE_ID}.test`

/** The SKU map of the Google Play report. */
export const SKU_MAP = [
  'vendor_sku,item',
  ...SHOP.flatMap(({ item, current, older }) =>
    [...new Set([current, older])].map((sku) => `${sku},${item.name}`),
  ),
  `${TEST_SKU},`,
].join('\n')

interface Market {
  readonly country: string
  readonly currency: string
  /** Units of the currency for one dollar. */
  readonly rate: number
  readonly decimals: number
  /** Prices are multiples of this in minor units, reduced by `under`: 4.99. */
  readonly step: number
  readonly under: number
  /** The sales tax in percent. It is part of the price, but in the USA it is added. */
  readonly tax: number
}

const market = (
  country: string,
  currency: string,
  rate: number,
  tax: number,
  { decimals = 2, step = 100, under = 1 } = {},
): Market => ({ country, currency, rate, decimals, step, under, tax })

/** Markets by the number of their buyers: earlier ones have more. Prices are in 13 currencies. */
const MARKETS: readonly Market[] = [
  market('US', 'USD', 1, 7),
  market('DE', 'EUR', 0.98, 19),
  market('GB', 'GBP', 0.82, 20),
  market('JP', 'JPY', 152, 10, { decimals: 0, step: 10, under: 0 }),
  market('FR', 'EUR', 0.98, 20),
  market('BR', 'BRL', 5.4, 0, { under: 10 }),
  market('KR', 'KRW', 1_380, 10, { decimals: 0, under: 0 }),
  market('IN', 'INR', 84, 18, { step: 1_000, under: 100 }),
  market('CA', 'CAD', 1.38, 13),
  market('AU', 'AUD', 1.52, 10),
  market('ES', 'EUR', 0.98, 21),
  market('MX', 'MXN', 18.5, 16, { step: 1_000, under: 100 }),
  market('PL', 'PLN', 4, 23),
  market('CH', 'CHF', 0.9, 8.1, { step: 50, under: 0 }),
  market('KW', 'KWD', 0.307, 0, { decimals: 3, step: 250, under: 0 }),
]

const DAY_MS = 86_400_000
const PERIOD_DAYS = 30
const TRIAL_DAYS = 7
const HISTORY_MONTHS = 13
/** The sales of each month compared with the average: people play most in winter. */
const SEASON = [1.15, 0.95, 0.9, 0.9, 0.85, 0.8, 0.9, 0.95, 0.9, 1, 1.25, 1.7]

interface Sale {
  readonly at: number
  /** 0 for the first sale of the file. */
  readonly number: number
  /** The number of the first sale of a subscription. */
  readonly order: number
  /** Of a subscription: 0 for the first payment. */
  readonly period: number
  /** A week before the first payment of a subscription. It costs nothing. */
  readonly isTrial: boolean
  readonly product: ShopItem
  readonly market: Market
  readonly player: number
  /** Random digits of the order. */
  readonly digits: number
  /** A time in the next months. */
  readonly refundedAt?: number
}

interface Event {
  readonly at: number
  readonly sale: Sale
  readonly isRefund: boolean
}

/** Yields sales and their refunds by time. Remembers only refunds and renewals that are to come. */
function* sell({ now, purchases = 2_000 }: SalesOptions, random: () => number, hasTrials: boolean) {
  const coming = new Map<number, Event[]>()
  const plan = (event: Event) => {
    if (event.at >= now) return
    const day = Math.floor(event.at / DAY_MS)
    const others = coming.get(day)
    if (others) others.push(event)
    else coming.set(day, [event])
  }
  let number = 0
  for (const { start, end, due } of daysUntil(now, purchases)) {
    const known = coming.get(start / DAY_MS) ?? []
    coming.delete(start / DAY_MS)
    const events = known.filter(({ isRefund }) => isRefund)
    const renewals = known.filter(({ isRefund }) => !isRefund)
    for (; number < due; number++) {
      const renewal = renewals.pop()
      // Most people play in the evening.
      const at = Math.floor(start + (end - start) * Math.max(random(), random()))
      const sale = renewal ? { ...renewal.sale, number } : draw(random, at, number, hasTrials)
      const refundedAt = Math.floor(sale.at + DAY_MS * (1 + 75 * random() ** 2))
      const isRefunded = !sale.isTrial && random() < 0.025 && refundedAt < now
      const sold = isRefunded ? { ...sale, refundedAt } : sale
      events.push({ at: sold.at, sale: sold, isRefund: false })
      if (isRefunded) plan({ at: refundedAt, sale: sold, isRefund: true })
      else if (sold.product.item.type === 'subscription' && random() < 0.8) plan(renew(sold))
    }
    for (const { sale } of renewals) plan(renewalOf(sale, sale.at + DAY_MS)) // no room today
    yield* events.sort((a, b) => a.at - b.at)
  }
}

/** The days of the history, with how many sales are due by their ends. */
function* daysUntil(now: number, purchases: number) {
  const date = new Date(now)
  const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - HISTORY_MONTHS)
  const weigh = (start: number) => {
    const date = new Date(start)
    const growth = 1 + (start - first) / (now - first)
    const weekend = [0, 6].includes(date.getUTCDay()) ? 1.3 : 1
    const part = Math.min(1, (now - start) / DAY_MS) // today has just begun
    return growth * weekend * part * (SEASON[date.getUTCMonth()] ?? 1)
  }
  let total = 0
  for (let start = first; start < now; start += DAY_MS) total += weigh(start)
  let sum = 0
  for (let start = first; start < now; start += DAY_MS) {
    sum += weigh(start)
    const end = Math.min(start + DAY_MS, now)
    yield { start, end, due: end === now ? purchases : Math.round((purchases * sum) / total) }
  }
}

function draw(random: () => number, at: number, number: number, hasTrials: boolean): Sale {
  const product = PICKS[Math.floor(PICKS.length * random())] as ShopItem
  // Only consumables are bought again. Early players buy them more often.
  const newest = number + 40
  const isRepeated = product.item.type === 'consumable'
  return {
    at,
    number,
    order: number,
    period: 0,
    product,
    player: isRepeated ? 1 + Math.floor(newest * random() ** 1.6) : newest,
    market: MARKETS[Math.floor(MARKETS.length * random() ** 1.8)] as Market,
    digits: Math.floor(random() * 9_999_999),
    isTrial: hasTrials && product.item.name === 'vip_month' && random() < 0.3,
  }
}

/** The next payment of a subscription. */
function renew({ isTrial, ...sale }: Sale): Event {
  const at = sale.at + DAY_MS * (isTrial ? TRIAL_DAYS : PERIOD_DAYS)
  return renewalOf({ ...sale, period: sale.period + 1, isTrial: false }, at)
}

function renewalOf(sale: Sale, at: number): Event {
  return { at, sale: { ...sale, at }, isRefund: false }
}

/** The price with tax, and the tax, in minor units. */
function pay({ product, market, isTrial }: Sale) {
  const { rate, decimals, step, under, tax, country } = market
  if (isTrial) return { price: 0, tax: 0 }
  const exact = (Number(product.item.price) / 100) * rate * 10 ** decimals
  const price = Math.max(1, Math.round(exact / step)) * step - under
  if (country !== 'US') return { price, tax: Math.round((price * tax) / (100 + tax)) }
  const added = Math.round((price * tax) / 100)
  return { price: price + added, tax: added }
}

const GOOGLE_COLUMNS =
  'Order Number,Order Charged Date,Order Charged Timestamp,Financial Status,Device Model,Product Title,Product ID,Product Type,SKU ID,Currency of Sale,Item Price,Taxes Collected,Charged Amount,City of Buyer,State of Buyer,Postal Code of Buyer,Country of Buyer,Base Plan ID,Offer ID'

const DEVICES = ['a15', 'dm3q', 'panther', 'beyond1', 'OP594DL1', 'mojito', 'shiba', 'TB-X606F']

/**
 * An estimated sales report of Google Play in chunks: the sales of the game and their refunds. It
 * also has sales of another app of the studio, and names no users.
 */
export function* googlePlayReport(options: SalesOptions): Generator<Uint8Array> {
  const random = createRandom(options.seed)
  function* rows() {
    yield GOOGLE_COLUMNS
    for (const { at, sale, isRefund } of sell(options, random, true)) {
      const { current, older } = sale.product
      const sku = sale.at < options.now - 200 * DAY_MS ? older : current
      yield googleRow(sale, at, isRefund ? 'Refund' : 'Charged', sku)
      const part = random()
      if (part < 0.004) yield googleRow(sale, at, 'Partial refund', sku)
      else if (part < 0.008) yield googleRow(other(sale), at, 'Charged', TEST_SKU)
      else if (part < 0.07) yield googleRow(other(sale), at, 'Charged', 'com.example.puzzle.hints')
    }
  }
  yield* toChunks(rows())
}

/** Another sale, whose id differs from all others: 9,999,999 is no random number. */
function other(sale: Sale): Sale {
  return { ...sale, order: sale.number, period: 0, isTrial: false, digits: 9_999_999 }
}

function googleRow(sale: Sale, at: number, status: string, sku: string): string {
  const { product, market, isTrial, digits } = sale
  const isOther = !sku.startsWith(BUNDLE_ID)
  const isSubscription = !isOther && product.item.type === 'subscription'
  const { price, tax } = pay(sale)
  const part = status === 'Charged' ? 1 : status === 'Refund' ? -1 : -0.5
  const format = (amount: number) => formatMajor(Math.round(amount * part), market)
  const title = isOther ? '5 Hints (Puzzle Garden)' : `${product.item.display_name} (Demo Game)`
  const time = `${new Date(at).toISOString().slice(0, 10)},${Math.floor(at / 1000)}`
  const about = `${DEVICES[digits % DEVICES.length]},${quote(title)}`
  const app = `${isOther ? 'com.example.puzzle' : BUNDLE_ID},${isSubscription ? 'subscription' : 'inapp'},${sku}`
  const money = `${market.currency},${format(price - tax)},${format(tax)},${format(price)}`
  const plan = `${isSubscription ? 'p1m' : ''},${isTrial ? 'free-week' : ''}`
  return `${orderNumber(sale)},${time},${status},${about},${app},${money},,,,${market.country},${plan}`
}

/** `GPA.` and 17 digits, which differ for each order. Renewals of a subscription end with `..0`. */
function orderNumber({ order, digits, period }: Sale): string {
  // Shuffles the numbers: the factor and 10⁸ have no common divisor.
  const shuffled = String(((order + 7_919) * 61_803_399) % 1e8).padStart(8, '0')
  const all = `33${shuffled}${String(digits).padStart(7, '0')}`
  const id = `GPA.${all.slice(0, 4)}-${all.slice(4, 8)}-${all.slice(8, 12)}-${all.slice(12)}`
  return period === 0 ? id : `${id}..${period - 1}`
}

/** A canonical file of the web store in chunks. It names players, and has the present statuses. */
export function* webStoreFile(options: SalesOptions): Generator<Uint8Array> {
  const random = createRandom((options.seed ?? 1) + 1)
  let count = 100_000
  function* rows() {
    yield 'transaction_id,sku,purchased_at,user_id,quantity,price,currency,status,metadata,expires_at'
    for (const { at, sale, isRefund } of sell(options, random, false)) {
      if (isRefund) continue
      const { product, market, player } = sale
      const { name, type } = product.item
      const quantity = type === 'consumable' && random() < 0.1 ? 2 : 1
      const time = new Date(at).toISOString()
      const end = new Date(at + PERIOD_DAYS * DAY_MS).toISOString()
      const money = `${quantity},${pay(sale).price * quantity},${market.currency}`
      const status = statusOf(sale, options.now - at, random())
      const metadata = count % 50 === 0 ? `{"level":${1 + (sale.digits % 60)},"from":"mail"}` : ''
      const expires = type === 'subscription' ? end : ''
      yield `W-${++count},${name},${time},player-${player},${money},${status},${quote(metadata)},${expires}`
    }
  }
  yield* toChunks(rows())
}

/** Some payments take up to three days. A few buyers never pay, and their orders are cancelled. */
function statusOf({ refundedAt }: Sale, age: number, part: number): string {
  if (refundedAt !== undefined) return 'refunded'
  if (age < 3 * DAY_MS) return part < 0.2 ? 'pending' : 'purchased'
  return part < 0.02 ? 'cancelled' : 'purchased'
}

/** An amount with separators of thousands and at least two decimals: Google writes 1,200.00 JPY. */
function formatMajor(amount: number, { decimals }: Market): string {
  const digits = String(Math.abs(amount)).padStart(decimals + 1, '0')
  const at = digits.length - decimals
  const whole = at > 3 ? digits.slice(0, at).replace(/\B(?=(\d{3})+$)/g, ',') : digits.slice(0, at)
  return quote(`${amount < 0 ? '-' : ''}${whole}.${digits.slice(at).padEnd(2, '0')}`)
}

function quote(cell: string): string {
  return cell.includes(',') || cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell
}

const CHUNK = 64 * 1024

function* toChunks(rows: Iterable<string>): Generator<Uint8Array> {
  let text = ''
  for (const row of rows) {
    text += `${row}\n`
    if (text.length < CHUNK) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

/** The generator mulberry32: numbers from 0 to 1. */
function createRandom(seed = 1): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
