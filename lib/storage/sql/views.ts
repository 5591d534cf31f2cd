import { GRANT } from '../../domain/import.ts'
import { PURCHASE_STATUSES } from '../../domain/purchase.ts'
import type { CurrentColumns } from './purchases/fills.ts'

/** The SQL of the views that differs between the databases. */
interface ViewDialect {
  /** The SQL from FROM on. It joins stores `s`, imports `i` and the purchases `p` that reads return. */
  readonly from: string
  readonly current: CurrentColumns
  /** Replaces a view, or creates it. Ends with the name of the view and AS. */
  create(view: string): string
  /** The SQL of a time from its column in Unix milliseconds, or as text. */
  fromMilliseconds(column: string): string
  fromText(column: string): string
}

const STORE = 's.account_id, s.project_id, s.store_id'
const NAMES = PURCHASE_STATUSES.map((name, code) => `WHEN ${code} THEN '${name}'`).join(' ')

/**
 * Creates the views for analysts. They show what reads return: no rows of running or undone imports,
 * no secrets, and names instead of numbers. Their columns are a promise: add new ones at the end, and
 * change no other, because other programs query them.
 */
export function viewsOf(dialect: ViewDialect): string {
  const { from, current, create, fromMilliseconds, fromText } = dialect
  return `
  ${create('stores_v1')}
    SELECT ${STORE}, j.name AS project_name, s.store_type, s.is_sandbox, s.status,
      ${fromText('s.created_at')} AS created_at
    FROM stores s JOIN projects j ON j.id = s.project_id;

  ${create('items_v1')}
    SELECT ${STORE}, t.id, t.name, t.display_name, t.description, t.price, t.type,
      coalesce(t.metadata, '{}') AS metadata, ${fromText('t.created_at')} AS created_at, t.version,
      ${fromText('t.archived_at')} AS archived_at
    FROM items t JOIN stores s ON s.seq = t.store;

  ${create('purchases_v1')}
    SELECT ${STORE}, s.is_sandbox, p.transaction_id, t.name AS sku,
      ${fromMilliseconds('p.purchased_at')} AS purchased_at, ${current.user_id} AS user_id,
      p.quantity, ${current.price} AS price, ${current.currency} AS currency,
      CASE ${current.status} ${NAMES} END AS status, coalesce(p.metadata, '{}') AS metadata,
      ${fromMilliseconds(current.expires_at)} AS expires_at, i.import_id,
      coalesce(i.layout = '${GRANT}', FALSE) AS is_grant
    ${from} JOIN items t ON t.seq = p.item;
  `
}
