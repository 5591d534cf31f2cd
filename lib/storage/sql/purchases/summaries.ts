import { setImmediate } from 'node:timers/promises'
import {
  MOST_CHARTS,
  MOST_LISTED,
  MOST_PERIODS,
  type Period,
  type PurchaseOverview,
  type PurchaseTotal,
} from '../../../domain/overview.ts'
import type { PurchaseFilter } from '../../../domain/query.ts'
import { SUMMARY_KEYS, type SummaryKey } from '../../../domain/summary.ts'
import { numberOf, type Row } from '../columns.ts'
import { conditionsAfter } from '../filter.ts'
import type { Query } from '../program.ts'
import type { StoresOfAccount } from '../records.ts'
import type { CurrentColumns } from './fills.ts'
import type { MostGroups } from './records.ts'

/** The SQL expressions of a summary that differ between the databases. */
export interface SummaryDialect {
  /** The SQL from FROM on. It joins stores `s` with the purchases `p` that reads return. */
  readonly from: string
  /**
   * The same for the purchases of one user, with the user id as its parameter. Missing if the
   * database finds the index of users by itself.
   */
  readonly fromUser?: string
  readonly current: CurrentColumns
  /** The SQL for the sums of the prices in a group of purchases with the same status. */
  readonly sums: string
  /** The SQL for the exact total of all prices with a status, as text. Adds up `sums`. */
  total(status: number): string
  /** The SQL for the start of the period of a time in Unix seconds, which sorts faster than text. */
  periodOf(period: Period, seconds: string): string
  /** The SQL for the text of a period, from its start. */
  textOf(period: Period, start: string): string
}

/**
 * Returns the statement of a summary, whose rows `totalsOfRows` reads. Groups by status too, then
 * merges the statuses of each group into one row. For a million rows, this takes 0.85 of the time
 * of counts and sums that each filter by status (bench/).
 */
export function summaryStatement(
  dialect: SummaryDialect,
  stores: StoresOfAccount,
  filter: PurchaseFilter,
  by: readonly SummaryKey[],
  most: MostGroups | undefined,
): Query {
  const { current, sums } = dialect
  const { status, user_id, currency } = current
  const ofUser = filter.user_id === undefined ? undefined : dialect.fromUser
  const { store_id } = stores
  const selected = storesWhere(stores)
  const isOneStore = store_id !== undefined || by.includes('store')
  const keys: { readonly [K in SummaryKey]: string } = {
    day: dialect.periodOf('day', SECONDS),
    week: dialect.periodOf('week', SECONDS),
    month: dialect.periodOf('month', SECONDS),
    // In one store, groups by the `seq` of the item, which sorts faster than its name (bench/: 0.7
    // of the time).
    sku: isOneStore ? 'p.item' : 't.name',
    currency,
    store: 's.store_id',
  }
  /** The SQL for the text of a key, from the value by which it is grouped. */
  const texts: { readonly [K in SummaryKey]: (group: string) => string } = {
    day: (group) => dialect.textOf('day', group),
    week: (group) => dialect.textOf('week', group),
    month: (group) => dialect.textOf('month', group),
    sku: (group) => (isOneStore ? `(SELECT name FROM items WHERE seq = ${group})` : group),
    currency: (group) => `coalesce(${group}, '')`,
    store: (group) => group,
  }
  // A user id is unique only within its project.
  const user = isOneStore ? user_id : `s.project_id || '/' || ${user_id}`
  const needsItems = filter.sku !== undefined || (by.includes('sku') && !isOneStore)
  // Adds the currency, because amounts of different currencies are never added. Ignores the order of
  // `by`: each order would be another statement to prepare.
  const groups = SUMMARY_KEYS.filter((key) => key === 'currency' || by.includes(key))
  const names = groups.map((key) => (key === 'store' ? 'store_id' : key))
  const selectedKeys = groups.map((key, i) => `${texts[key](`g.key_${i}`)} AS ${names[i]}`)
  const conditions = conditionsAfter(filter, current)
  return {
    sql: `SELECT ${selectedKeys.join(', ')},
      ${totalsOf(dialect)}, ${sumOf('users', 0)} AS buyers
      FROM (
        SELECT ${groups.map((key, i) => `${keys[key]} AS key_${i}`).join(', ')}, ${status} AS status,
          count(*) AS purchases, count(DISTINCT ${user}) AS users, ${sums}
        ${ofUser ?? dialect.from} ${needsItems ? 'LEFT JOIN items t ON t.seq = p.item' : ''}
        WHERE ${selected.sql}
          ${conditions.sql}
        GROUP BY ${[...groups, 'status'].map((_, i) => i + 1).join(', ')}
      ) g
      GROUP BY ${groups.map((_, i) => `g.key_${i}`).join(', ')}
      ORDER BY ${most?.isTop ? 'purchased DESC, ' : ''}${names.join(', ')}
      LIMIT ?`,
    values: [
      ...(ofUser === undefined ? [] : [filter.user_id as string]),
      ...selected.values,
      ...conditions.values,
      most?.limit ?? Number.MAX_SAFE_INTEGER,
    ],
  }
}

const SECONDS = 'p.purchased_at / 1000.0'

/** The SQL condition that selects stores `s`. */
export function storesWhere({ account_id, store_id, is_sandbox }: StoresOfAccount) {
  const ofStore = store_id === undefined ? '' : ' AND s.store_id = ?'
  const isLive = is_sandbox ? ' AND s.is_sandbox' : ' AND NOT s.is_sandbox'
  return {
    sql: `s.account_id = ?${ofStore}${is_sandbox === undefined ? '' : isLive}`,
    values: store_id === undefined ? [account_id] : [account_id, store_id],
  }
}

/** The SQL columns of counts and sums, from rows with the columns `status` and `purchases`. */
function totalsOf({ total }: SummaryDialect): string {
  return `${sumOf('purchases', 0)} AS purchased, ${sumOf('purchases', 1)} AS pending,
      ${sumOf('purchases', 2)} AS refunded, ${sumOf('purchases', 3)} AS cancelled,
      ${total(0)} AS revenue, ${total(2)} AS refunded_total`
}

function sumOf(column: string, status: number): string {
  return `coalesce(sum(${column}) FILTER (WHERE status = ${status}), 0)`
}

/** Reads a total: the names of its group, and its counts and sums. */
function totalOf<T>(row: Row): T {
  const { kind: _, purchased, pending, refunded, cancelled, ...others } = row
  const { revenue, refunded_total, buyers, ...names } = others
  return {
    ...Object.fromEntries(Object.entries(names).filter(([, name]) => name !== null)),
    ...statusesOf({ purchased, pending, refunded, cancelled } as Row),
    revenue: String(BigInt(revenue as string)),
    refunded_total: String(BigInt(refunded_total as string)),
    ...(buyers !== undefined && { buyers: numberOf(buyers) }),
  } as T
}

/** Reads many totals. Lets other work run after each thousand of them. */
export async function totalsOfRows<T>(rows: readonly Row[]): Promise<T[]> {
  const totals: T[] = []
  for (const row of rows) {
    totals.push(totalOf<T>(row))
    if (totals.length % 1000 === 0) await setImmediate()
  }
  return totals
}

/** The periods of an overview: their length, and their currency if they have only one. */
export interface WantedPeriods {
  readonly by: Period
  readonly currency?: string | undefined
}

/** The SQL for the names of the groups of an overview: their numbers in `sales`, and their names. */
const GROUPS = {
  items: { key: 'sales.item', names: 'SELECT seq, name, display_name AS label FROM items' },
  stores: { key: 'sales.store', names: "SELECT seq, store_id AS name, '' AS label FROM stores" },
}

type Group = keyof typeof GROUPS

/**
 * Returns the statement of the totals of stores, whose rows `storeTotals` reads. Reads the purchases
 * once, and adds up the groups of them in several ways.
 */
export function totalsStatement(
  dialect: SummaryDialect,
  stores: StoresOfAccount,
  times: PurchaseFilter,
  { by, currency }: WantedPeriods,
): Query {
  const { from, current, sums } = dialect
  const selected = storesWhere(stores)
  const conditions = conditionsAfter(times, current)
  const none = 'CAST(NULL AS text)'
  const counted = ['purchased', 'pending', 'refunded', 'cancelled']
  const counts = counted.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')
  const statuses = counted.map((name, status) => `${sumOf('purchases', status)} AS ${name}`)
  const mostUsed = (count: number) =>
    `SELECT currency FROM currencies ORDER BY purchased DESC, currency LIMIT ${count}`
  const charted = currency === undefined ? mostUsed(MOST_CHARTS) : 'SELECT CAST(? AS text)'
  const totals = (kind: string, names: string, selection: string) => `
    SELECT * FROM (
      SELECT '${kind}' AS kind, CAST(NULL AS bigint), ${names}, currency, ${totalsOf(dialect)} FROM sales ${selection}) t`
  const join = (group: Group) => `JOIN (${GROUPS[group].names}) n ON n.seq = ${GROUPS[group].key}`
  const best = (group: Group) => `
    best_${group} AS MATERIALIZED (
      SELECT n.name, max(n.label) AS label, ${statuses.join(', ')} FROM sales ${join(group)}
      GROUP BY n.name ORDER BY purchased DESC, n.name LIMIT ${MOST_LISTED})`
  /** The best groups in all currencies, and then in each of the listed ones. */
  const groups = (group: Group) => `
    UNION ALL SELECT '${group}', NULL, NULL, name, label, NULL,
      purchased, pending, refunded, cancelled, '0', '0' FROM best_${group}
    UNION ALL ${totals(
      `amounts of ${group}`,
      'NULL, n.name, NULL',
      `${join(group)} WHERE n.name IN (SELECT name FROM best_${group})
        AND currency IN (SELECT currency FROM listed)
      GROUP BY n.name, currency ORDER BY purchased DESC, currency`,
    )}`
  const sql = `
    WITH sales AS MATERIALIZED (
      SELECT ${dialect.periodOf(by, SECONDS)} AS period, p.item, s.seq AS store,
        coalesce(${current.currency}, '') AS currency, ${current.status} AS status,
        count(*) AS purchases, ${sums}
      ${from} WHERE ${selected.sql} ${conditions.sql}
      GROUP BY 1, 2, 3, 4, 5),
    currencies AS MATERIALIZED (SELECT currency, ${totalsOf(dialect)} FROM sales GROUP BY 1),
    listed AS MATERIALIZED (${mostUsed(MOST_LISTED)}), ${best('items')}, ${best('stores')}
    SELECT 'all' AS kind, count(*) AS currency_count, ${none} AS ${by}, ${none} AS name,
      ${none} AS label, ${none} AS currency, ${counts}, '0' AS revenue, '0' AS refunded_total
    FROM currencies
    UNION ALL SELECT 'currencies', NULL, NULL, NULL, NULL, c.* FROM (
      SELECT * FROM currencies ORDER BY purchased DESC, currency LIMIT ${MOST_LISTED}) c
    UNION ALL ${totals(
      'periods',
      `${dialect.textOf(by, 'period')}, NULL, NULL`,
      `WHERE currency IN (${charted})
      GROUP BY period, currency ORDER BY period, currency LIMIT ${MOST_PERIODS + 1}`,
    )}
    ${groups('items')} ${groups('stores')}`
  const chosen = currency === undefined ? [] : [currency]
  return { sql, values: [...selected.values, ...conditions.values, ...chosen] }
}

/** Reads the rows of `totalsStatement`. */
export async function storeTotals([all, ...rows]: readonly Row[]): Promise<PurchaseOverview> {
  const ofKind = <T>(kind: string) => totalsOfRows<T>(rows.filter((row) => row.kind === kind))
  const groups = async (group: Group) => {
    const amounts = await ofKind<Named & PurchaseTotal>(`amounts of ${group}`)
    const named = rows.filter(({ kind }) => kind === group)
    return named.map((row) => ({
      name: row.name as string,
      label: row.label as string,
      ...statusesOf(row),
      currencies: amounts
        .filter(({ name }) => name === row.name)
        .map(({ name: _, ...total }) => total),
    }))
  }
  return {
    ...statusesOf(all),
    currency_count: numberOf(all?.currency_count),
    currencies: await ofKind<PurchaseTotal>('currencies'),
    periods: await ofKind<PurchaseTotal>('periods'),
    items: (await groups('items')).map(({ name: sku, label: display_name, ...totals }) => ({
      sku,
      display_name,
      ...totals,
    })),
    stores: (await groups('stores')).map(({ name: store_id, label: _, ...totals }) => ({
      store_id,
      ...totals,
    })),
  }
}

interface Named {
  readonly name: string
}

function statusesOf(row: Row | undefined) {
  return {
    purchased: numberOf(row?.purchased),
    pending: numberOf(row?.pending),
    refunded: numberOf(row?.refunded),
    cancelled: numberOf(row?.cancelled),
  }
}

/**
 * The SQL that counts the buyers of a store in each currency. Its parameters are the account, the
 * store, and the start of the period (three times).
 */
export function buyersStatement({ from, current }: SummaryDialect): string {
  const { status, user_id, currency } = current
  return `
    WITH buyers AS (
      SELECT coalesce(${currency}, '') AS currency, ${user_id} AS user_id, min(p.purchased_at) AS first,
        max(p.purchased_at) AS last
      ${from} WHERE s.account_id = ? AND s.store_id = ? AND ${status} = 0 AND ${user_id} IS NOT NULL
      GROUP BY 1, 2)
    SELECT currency, count(*) FILTER (WHERE first >= ?) AS "new",
      count(*) FILTER (WHERE first < ?) AS former
    FROM buyers WHERE last >= ? GROUP BY currency ORDER BY currency`
}
