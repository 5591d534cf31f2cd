import {
  type ItemTotal,
  MOST_CHARTS,
  MOST_PERIODS,
  type Period,
  type PurchaseTotal,
} from '../domain/overview.ts'
import type { Row } from './columns.ts'
import type { StoreTotals } from './records.ts'
import { type SummaryDialect, totalOf, totalsOf } from './sql/summaries.ts'

/**
 * The table `purchase_totals` holds counts and sums of purchases: by day (kind 0), and by month and
 * item (kind 1). Reading the overview of a store fills the table with the purchases of finished
 * imports. Triggers then change it in the transactions that change or delete these purchases. Each
 * overview also adds up the purchases that are not in the table yet.
 */
export const DAYS = 0
export const MONTHS = 1
export type Kind = typeof DAYS | typeof MONTHS

/** The overview of a store reads up to this many purchases that are not in the totals yet. */
export const MOST_READ = 20_000
/** If the totals lack more purchases than this, the overview of a store starts to add them. */
export const FEW_READ = 1_000

const DAY = 86_400_000

/** The end of the month that contains the last moment before a time. */
export function endOfMonth(time: number): number {
  const last = new Date(time - 1)
  return Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + 1)
}

/** The SQL for the day of a time, counted from 1970. `SHIFT` avoids a negative dividend. */
const dayOf = (time: string) => `((${time} + ${SHIFT * DAY}) / ${DAY} - ${SHIFT})`
const SHIFT = 1_000_000

/** The SQL for totals that differs between the databases. */
export interface TotalsDialect extends SummaryDialect {
  /** The first day of the month of a day. Days are counted from 1970. */
  monthOf(day: string): string
  /** The SQL of a parameter for a store's `seq`. */
  readonly store: string
  /** The columns of `purchase_totals` that `sums` adds up. */
  readonly columns: readonly string[]
  /** The SQL for the values of `columns`, from a purchase `p`. */
  readonly values: readonly string[]
}

/** The SQL for the columns `start` and `item` of a kind of totals, from a purchase `p`. */
function groupOf({ monthOf }: TotalsDialect, kind: Kind): readonly [string, string] {
  const day = dayOf('p.purchased_at')
  return kind === DAYS ? [day, '0'] : [monthOf(day), 'p.item']
}

/**
 * The SQL to add purchases `p` of one store to the totals of a kind. `from` is the SQL after FROM
 * that selects the purchases. `number` is the SQL for the `seq` of their import, or 0 for recorded
 * purchases. The first parameter is the store's `seq`.
 */
export function addition(dialect: TotalsDialect, kind: Kind, number: string, from: string): string {
  const { columns, values, sums } = dialect
  const [start, item] = groupOf(dialect, kind)
  const read = values.map((value, i) => `coalesce(${value}, 0) AS ${columns[i]}`)
  const added = ['purchases', ...columns]
  return `
    INSERT INTO purchase_totals AS t
      (store, import, kind, start, item, currency, status, ${added.join(', ')})
    SELECT ${dialect.store}, import, ${kind}, start, item, currency, status, ${added.join(', ')} FROM (
      SELECT start, item, currency, status, import, count(*) AS purchases, ${sums} FROM (
        SELECT ${start} AS start, ${item} AS item, coalesce(p.currency, '') AS currency, p.status,
          ${number} AS import, ${read.join(', ')}
        FROM ${from}) p
      GROUP BY 1, 2, 3, 4, 5) g WHERE true
    ON CONFLICT (store, import, kind, start, item, currency, status) DO UPDATE SET
      ${added.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')}`
}

/** Purchases to add to the stored totals, or to subtract from them. `from` selects them. */
export interface Part {
  readonly from: string
  /** `1` to add the rows to the totals, `-1` to subtract them; default `1`. */
  readonly sign?: string
}

/**
 * The SQL that reads the totals of a store. `stored` returns the SQL after FROM for the stored
 * totals `t` of a kind. Each of `parts` selects purchases `p` to add to the stored totals, or to
 * subtract. Both get a first and an exclusive last time as parameters.
 */
export function totalsStatement(
  dialect: TotalsDialect,
  by: Period,
  stored: (kind: Kind) => string,
  parts: readonly Part[],
): string {
  const { columns, values, sums } = dialect
  const all = (kind: Kind) => {
    const [start, item] = groupOf(dialect, kind)
    const read = parts.map(({ from, sign = '1' }) => {
      const added = values.map((value, i) => `${sign} * coalesce(${value}, 0) AS ${columns[i]}`)
      return `SELECT ${start} AS start, ${item} AS item, coalesce(p.currency, '') AS currency,
        p.status, ${sign} AS purchases, ${added.join(', ')} FROM ${from}`
    })
    const kept = `SELECT t.start, t.item, t.currency, t.status, t.purchases,
      ${columns.map((column) => `t.${column}`).join(', ')} FROM ${stored(kind)}`
    return [kept, ...read].join(' UNION ALL ')
  }
  const grouped = (key: string, kind: Kind) => `
    SELECT ${key} AS name, currency, status, sum(purchases) AS purchases, ${sums}
    FROM (${all(kind)}) p GROUP BY 1, 2, 3`
  return `
    WITH days AS MATERIALIZED (${grouped('start', DAYS)}),
    currencies AS MATERIALIZED (
      SELECT currency, ${totalsOf(dialect)} FROM days GROUP BY 1 HAVING sum(purchases) <> 0)
    SELECT ${CURRENCIES} AS kind, CAST(NULL AS text) AS name, CAST(NULL AS text) AS display_name, c.*
    FROM currencies c
    UNION ALL
    SELECT * FROM (
      SELECT ${DAYS} AS kind, ${dialect.periodOf(by, 'name * 86400')} AS name, NULL, currency,
        ${totalsOf(dialect)}
      FROM days WHERE currency IN (
        SELECT currency FROM currencies ORDER BY purchased DESC, currency LIMIT ${MOST_CHARTS})
      GROUP BY 2, 4 HAVING sum(purchases) <> 0 LIMIT ${MOST_PERIODS + 1}) d
    UNION ALL
    SELECT * FROM (
      SELECT ${MONTHS} AS kind, (SELECT name FROM items WHERE seq = g.name) AS name,
        (SELECT display_name FROM items WHERE seq = g.name) AS display_name, currency,
        ${totalsOf(dialect)}
      FROM (${grouped('item', MONTHS)}) g GROUP BY g.name, currency HAVING sum(purchases) <> 0
      ORDER BY purchased DESC, name, currency LIMIT ${MOST_ITEMS}) m`
}

const MOST_ITEMS = 100

/** The `kind` of the rows for currencies in the result of `totalsStatement`. */
const CURRENCIES = 2

/** Reads the rows of `totalsStatement`. */
export function storeTotals(rows: readonly Row[], by: Period): StoreTotals {
  const ofKind = (kind: number, key?: 'sku' | Period) =>
    rows
      .filter((row) => Number(row.kind) === kind)
      .map((row) =>
        totalOf({ ...(key && { [key]: row.name }), currency: row.currency as string }, row),
      )
  const items = rows.filter(({ kind }) => Number(kind) === MONTHS)
  return {
    currencies: mostUsed(ofKind(CURRENCIES)),
    periods: sorted(ofKind(DAYS, by), by),
    items: ofKind(MONTHS, 'sku').map((total, i): ItemTotal => {
      return { ...total, display_name: items[i]?.display_name as string }
    }),
  }
}

/** Sorts currencies by the number of their purchases with the status `purchased`. */
function mostUsed(totals: readonly PurchaseTotal[]): PurchaseTotal[] {
  return [...totals].sort((a, b) => b.purchased - a.purchased || (a.currency < b.currency ? -1 : 1))
}

/** Sorts totals by period and currency. */
function sorted(totals: readonly PurchaseTotal[], by: Period): PurchaseTotal[] {
  const key = (total: PurchaseTotal) => `${total[by]} ${total.currency}`
  return [...totals].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}
