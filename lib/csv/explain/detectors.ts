import type { Column } from './columns.ts'
import { parseMoney } from './money.ts'
import { type Concept, flagOf, statusOf } from './words.ts'

/** The parts of a purchase that columns are found for. */
export type Part =
  | 'transaction_id'
  | 'sku'
  | 'date'
  | 'clock'
  | 'zone'
  | 'user_id'
  | 'quantity'
  | 'price'
  | 'currency'
  | 'status'

/**
 * How well a column fits a part: 0 if it cannot be that part. `rows` is the number of rows. What the
 * cells say outweighs what the name says.
 */
type Detector = (column: Column, rows: number) => number

const has = ({ concepts }: Column, ...any: readonly Concept[]) =>
  any.some((concept) => concepts.has(concept))

/** Whether a column is about money, a time or a place, by its name. */
const isOfSale = (column: Column) =>
  !has(column, 'fee', 'tax', 'shipping', 'discount', 'net', 'address', 'email', 'cost')

/** The highest of the scores whose concept the name has. */
function best(column: Column, scores: readonly (readonly [Concept, number])[]): number {
  return Math.max(0, ...scores.map(([concept, score]) => (has(column, concept) ? score : 0)))
}

const USER_NAME = /user ?name|(nutzer|spieler|gamer)name/i

/** Players have pseudonyms, but customers and buyers have names. */
const USER =
  /^(user|player|gamer|account|(be)?nutzer|spieler(in)?|utilisateur|joueur|pseudo|usuario|jugador|usuário|jogador|utilizador|utente|giocatore|użytkownik|gracz|kullanıcı|oyuncu|пользователь|игрок|геймер|ユーザー?|プレイヤー|用户|用戶|玩家|사용자|유저|플레이어|المستخدم|اللاعب)$/iu

const DETECTORS: { readonly [P in Part]: Detector } = {
  // Ids are texts that differ. Nearly all rows have one.
  transaction_id: (column, rows) => {
    const { kind, concepts, distinct, filled } = column
    if (!['code', 'count', 'text'].includes(kind) || filled < rows / 2) return 0
    if (!isOfSale(column) || has(column, 'customer', 'related', 'item', 'game', 'sku')) return 0
    if (has(column, 'date', 'test', 'status', 'type', 'zone', 'currency', 'refund')) return 0
    if (has(column, 'quantity', 'amount', 'total', 'price')) return 0
    const noun = best(column, [
      ['transaction', 5],
      ['sale', 4.5],
      ['order', 4],
      ['payment', 3],
      ['invoice', 3],
    ])
    const isNumber = concepts.has('id')
    const name = noun > 0 ? noun + (isNumber ? 1 : 0) : isNumber ? 3 : 0
    // Without a name that says something, only codes that all differ.
    const isUnique = kind === 'code' && distinct === rows && concepts.size === 0
    if (kind === 'text' && !isNumber) return 0
    if (noun === 0 && has(column, 'otherRecord', 'account')) return 0
    if ((name === 0 && !isUnique) || (has(column, 'name') && !isNumber)) return 0
    const record = has(column, 'record') ? 2 : 0
    return Math.max(0.1, name - record) + (4 * distinct) / filled
  },

  // SKUs of the store prove the column. Else the name decides, and few different values.
  sku: (column) => {
    const { kind, skus, names } = column
    const isItem = has(column, 'item', 'game')
    const text = has(column, 'name') ? 1.5 : 2
    const sku = /\bsku\b/i.test(column.name) ? 6 : 5
    const name = has(column, 'sku') ? sku : isItem ? (has(column, 'id') ? 3 : text) : 0
    // Names of items need a SKU map.
    const known = 12 * skus + names
    if (skus >= 0.5) return known + name
    if (!['code', 'count', 'text'].includes(kind)) return 0
    if (!isOfSale(column) || has(column, 'customer', 'quantity', 'total', 'price', 'currency'))
      return 0
    if (has(column, 'date', 'status', 'type', 'unit', 'order', 'transaction')) return 0
    if (has(column, 'account', 'test') || (has(column, 'related') && !has(column, 'sku'))) return 0
    return name + (name > 0 ? known : 0)
  },

  date: (column, rows) => {
    const { kind, filled } = column
    const isNamed = has(column, 'date', 'time', 'created', 'paid')
    const isNumber = (kind === 'count' || kind === 'code') && isNamed
    if ((kind !== 'date' && !isNumber) || filled < rows / 2) return 0
    if (has(column, 'shipping', 'refund', 'net', 'otherDate', 'customer', 'related')) return 0
    const noun = best(column, [
      ['sale', 3],
      ['transaction', 3],
      ['order', 3],
      ['payment', 2.5],
      ['paid', 2.5],
      ['created', 2.5],
    ])
    return 1 + noun + (isNamed ? 1 : 0) + (has(column, 'utc') ? 0.5 : 0) + filled / rows
  },

  clock: (column) => (column.kind === 'clock' ? 1 + (has(column, 'time') ? 1 : 0) : 0),

  zone: (column) => (column.kind === 'zone' ? 1 + (has(column, 'zone') ? 1 : 0) : 0),

  // Only ids: e-mail addresses and names are personal data that a purchase does not need.
  user_id: (column) => {
    const { kind, name, distinct } = column
    const isCustomer = has(column, 'customer')
    if (!['code', 'count', 'text', 'empty'].includes(kind)) return 0
    if (!isCustomer && !has(column, 'account')) return 0
    if (has(column, 'address', 'email', 'tax', 'date', 'type', 'item', 'order', 'shipping'))
      return 0
    if (has(column, 'test', 'status', 'payment', 'net', 'amount')) return 0
    const isId = has(column, 'id') || USER_NAME.test(name)
    const isUser = USER.test(name)
    if (kind === 'empty') return isId || isUser ? 0.5 : 0
    // One account in all rows is rather that of the seller.
    if (!isCustomer) return (isId || isUser || kind === 'code') && distinct > 1 ? 1 : 0
    return isId ? 3 : kind === 'code' || isUser ? 2 : 0
  },

  quantity: (column) => {
    if (column.kind !== 'count' && column.kind !== 'money') return 0
    if (!has(column, 'quantity') || has(column, 'amount', 'total', 'price', 'shipping')) return 0
    return has(column, 'refund') ? 1 : 2
  },

  // The amount of the whole row that the customer paid.
  price: (column) => {
    const isLarge =
      column.kind === 'code' &&
      has(column, 'total', 'amount', 'price') &&
      column.samples.every((cell) => parseMoney(cell))
    if (column.kind !== 'money' && column.kind !== 'count' && !isLarge) return 0
    if (!isOfSale(column) || has(column, 'refund', 'quantity', 'id', 'date', 'time')) return 0
    const noun = best(column, [
      ['total', 4],
      ['amount', 3.5],
      ['sale', 3],
      ['price', 2.5],
      ['minor', 2.5],
    ])
    if (noun === 0) return 0
    const isLess = has(column, 'unit', 'part')
    return noun + (has(column, 'item') ? 0.5 : 0) - (isLess ? 1.5 : 0)
  },

  currency: (column) => {
    if (column.kind !== 'currency') return 0
    return 1 + (has(column, 'currency') ? 2 : 0)
  },

  // Few different words, some of which say that a purchase was paid or refunded.
  status: (column) => {
    const { kind, words } = column
    const isNamed = isStatusByName(column)
    if (isNamed && kind === 'empty') return UNKNOWN_STATUS
    if (!words || !['text', 'code', 'count', 'currency'].includes(kind)) return 0
    if (has(column, 'shipping', 'address', 'customer', 'zone', 'quantity', 'tax')) return 0
    if (!isNamed && has(column, 'item', 'game', 'id')) return 0
    const name = has(column, 'status') ? 3 : has(column, 'type') ? 1 : has(column, 'refund') ? 1 : 0
    if (name === 0) return 0
    const { share, hasRefund } = readWords(column)
    if (share === 0) return isNamed ? UNKNOWN_STATUS : 0
    // A refund in part leaves the purchase as it is.
    const isWhole = /full|total|vollst|complet/i.test(column.name) ? 0.5 : 0
    return isWhole + name + 4 * share + (hasRefund ? 2 : 0) + (has(column, 'payment') ? 1 : 0)
  },
}

/** The score of a column that has the name of a status and no known word. */
const UNKNOWN_STATUS = 0.1

/** Whether the name of a column says that it has the status of the sales. */
export function isStatusByName(column: Column): boolean {
  const isOther = has(column, 'shipping', 'address', 'customer', 'zone', 'quantity', 'tax', 'date')
  return has(column, 'status') && !isOther
}

/** The share of the different words of a column that are statuses, and whether one is a refund. */
function readWords({ words = new Map(), concepts }: Column) {
  const all = [...words.keys()]
  if (concepts.has('refund') && all.every((word) => flagOf(word) !== undefined)) {
    return { share: 1, hasRefund: true }
  }
  const known = all.map(statusOf).filter((status) => status !== undefined)
  return { share: known.length / Math.max(1, all.length), hasRefund: known.includes('refunded') }
}

/** The columns that may be a part, the best first. */
export function candidatesFor(part: Part, columns: readonly Column[], rows: number) {
  const detect = DETECTORS[part]
  return columns
    .map((column) => ({ column, score: detect(column, rows) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
}
