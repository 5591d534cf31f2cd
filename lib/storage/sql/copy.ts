import { TillError } from '../../errors.ts'
import type { ColumnType, Table } from './columns.ts'
import type { Sql } from './dialect.ts'
import { all, find, type Program, run } from './program.ts'
import {
  ACCOUNT_KEYS,
  ACCOUNTS,
  AUDIT,
  ENDPOINTS,
  ERASED_PURCHASES,
  FORMER_PUBLIC_KEYS,
  IDEMPOTENCY_RECORDS,
  IMPORT_DETAILS,
  ITEM_ROWS,
  KEY_USES,
  PROJECTS,
  PURCHASES,
  SIGNING_KEYS,
  STORES,
  WATERMARKS,
} from './tables.ts'
import { isUnread } from './webhooks/dialect.ts'

/** A row as texts, which both databases read and write alike. */
export type CopiedRow = readonly (string | null)[]

export interface CopiedPage {
  /** Rows after this one, in the order of the table's key. */
  readonly after?: CopiedRow | undefined
  readonly limit: number
  /** Leaves out the idempotency records that have expired at this time. */
  readonly now: string
}

type Types = { readonly [column: string]: ColumnType | 'number' }

/** A table of a copy. Its rows are named `r`. */
export interface CopiedTable {
  readonly name: string
  /** The name in messages and counts, if it is not that of the table. */
  readonly kind?: string
  /** A `number` is that of a purchase, which the copy may choose differently. */
  readonly columns: Types
  /** The columns in whose order the rows are copied. */
  readonly key: readonly string[]
  /** Selects the rows to copy. A `?` is the current time. */
  readonly where?: string
  /** The SQL of a text to compare besides the columns. */
  readonly compared?: string
  /** The SQL of the column `store`, if the table lacks it. */
  readonly store?: string
}

// No join: with one, PostgreSQL would sort the whole table for each page.
const isKept = (column: string) =>
  `(SELECT i.owner IS NULL AND i.undone_at IS NULL FROM imports i WHERE i.seq = r.${column})`

/** Whether a purchase was delivered, or the one that waits is kept. */
export function isKeptDelivery(isPurchase: string): string {
  return `(r.purchase IS NULL OR EXISTS (
    SELECT 1 FROM purchases p JOIN imports i ON i.seq = p.import
    WHERE ${isPurchase} AND i.owner IS NULL AND i.undone_at IS NULL))`
}

/** The tables that are copied, in the order of their foreign keys. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  numbered(ACCOUNTS),
  numbered(ACCOUNT_KEYS),
  keyed(KEY_USES, 'key_id'),
  numbered(PROJECTS),
  numbered(FORMER_PUBLIC_KEYS),
  numbered(STORES),
  numbered(ITEM_ROWS, { store: 'integer' }),
  {
    ...numbered(IMPORT_DETAILS, {
      store: 'integer',
      import_id: 'text',
      created_at: 'timestamptz',
      undone_at: 'text',
      first_purchase: 'number',
      last_purchase: 'number',
    }),
    where: '(r.owner IS NULL OR r.undone_at IS NOT NULL) AND r.undoes IS NULL',
  },
  {
    name: 'purchases',
    columns: {
      store: 'integer',
      seq: 'number',
      import: 'integer',
      item: 'integer',
      ...typesOf(PURCHASES, 'import_id', 'sku', 'is_grant'),
    },
    key: ['store', 'seq'],
    where: isKept('import'),
  },
  {
    name: 'status_changes',
    columns: {
      store: 'integer',
      import: 'integer',
      purchase: 'number',
      before: 'smallint',
      after: 'smallint',
      filled: 'smallint',
    },
    key: ['import', 'purchase'],
    where: isKept('import'),
    compared: '(SELECT p.transaction_id FROM purchases p WHERE p.seq = r.purchase)',
  },
  {
    name: 'import_overlaps',
    columns: { import: 'integer', earlier: 'integer', rows: 'bigint' },
    key: ['import', 'earlier'],
    where: `${isKept('import')} AND ${isKept('earlier')}`,
  },
  {
    name: 'erased_purchases',
    columns: { store: 'integer', ...typesOf(ERASED_PURCHASES) },
    key: ['store', 'transaction_id'],
  },
  {
    name: 'deliveries',
    columns: { store: 'integer', transaction_id: 'text', purchase: 'number' },
    key: ['store', 'transaction_id'],
    where: isKeptDelivery('p.seq = r.purchase'),
  },
  numbered(SIGNING_KEYS),
  { name: 'key_check', kind: 'key_checks', columns: { id: 'integer', value: 'text' }, key: ['id'] },
  { ...keyed(WATERMARKS, 'project_id', 'user_id'), kind: 'revocations' },
  {
    ...keyed(IDEMPOTENCY_RECORDS, 'account_id', 'key'),
    where: 'r.expires_at > ?',
  },
  { ...numbered(AUDIT), kind: 'audit_entries' },
  {
    ...keyed(ENDPOINTS, 'endpoint_id'),
    columns: { ...typesOf(ENDPOINTS), read_seq: 'bigint' },
  },
]

function typesOf<R>({ columns }: Table<R>, ...without: readonly string[]): Types {
  const all = Object.entries(columns) as [string, { type: ColumnType }][]
  const entries = all.filter(([name]) => !without.includes(name))
  return Object.fromEntries(entries.map(([name, { type }]) => [name, type]))
}

function numbered<R>(table: Table<R>, own: Types = {}): CopiedTable {
  return { name: table.name, columns: { seq: 'integer', ...own, ...typesOf(table) }, key: ['seq'] }
}

function keyed<R>(table: Table<R>, ...key: string[]): CopiedTable {
  return { name: table.name, columns: typesOf(table), key }
}

/** The parts of a copy that differ between the databases. */
export interface CopyDialect {
  /** The fields that a table has only in this database. */
  readonly tables: { readonly [name: string]: Partial<CopiedTable> }
  /** The statements of `completeCopy`. */
  readonly complete: readonly string[]
  /** Writes rows with the numbers of the source. */
  insertRows(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>
  /** Writes the status changes of imports that are not in their purchases yet. SQLite only. */
  applyChanges?(): Promise<void>
  /**
   * Where each store numbers its own purchases: by the `seq` of a store, the number to add, so that
   * no two purchases have the same. Missing where the purchases of all stores have one sequence.
   */
  readNumberBases?(): Promise<ReadonlyMap<string, number>>
}

export function copyMethods(sql: Sql, dialect: CopyDialect) {
  const { read, write } = sql
  const tables = new Map(
    COPIED_TABLES.map((table) => {
      const given = { ...table, ...dialect.tables[table.name] }
      return [table.name, { ...given, ...queriesOf(given, sql) }]
    }),
  )

  function* readRows(name: string, { after, limit, now }: CopiedPage): Program<CopiedRow[]> {
    const { columns, key, where, first, next } = tables.get(name) as Required<CopiedTable> & Queries
    const names = Object.keys(columns)
    const cursor = after
      ? key.map((column) => {
          const text = after[names.indexOf(column)] as string
          return columns[column] === 'text' ? text : Number(text)
        })
      : []
    const times = where?.includes('?') ? [now] : []
    const rows = yield* all(after ? next : first, ...times, ...cursor, limit)
    return rows.map((row) => Object.values(row) as CopiedRow)
  }

  return {
    /** Marks an empty storage as an unfinished copy until `endCopy`. Throws if it is not empty. */
    beginCopy: (now: string) =>
      write(function* () {
        // Waits for the transactions that write these tables. Until they commit, this transaction
        // cannot see their rows.
        for (const name of ['accounts', 'signing_keys', 'audit', 'unfinished_copy']) {
          yield* sql.lockTable(name, 'EXCLUSIVE')
        }
        if (yield* find(FIND_ANYTHING)) {
          throw new TillError(
            'invalid_request',
            'The new database is not empty: copy into an empty one',
          )
        }
        yield* run('INSERT INTO unfinished_copy (began_at) VALUES (?)', now)
      }),
    endCopy: () =>
      write(function* () {
        yield* run('DELETE FROM unfinished_copy')
        yield { isAudited: false } // the copied rows have no audit entries of their changes
      }),
    insertRows: dialect.insertRows,
    applyChanges: dialect.applyChanges,
    readNumberBases: dialect.readNumberBases,
    readRows: (table: string, page: CopiedPage) => read(readRows(table, page)),
    /** Writes what follows from the copied rows: indexes, sequences, positions. */
    completeCopy: () =>
      write(
        function* () {
          for (const each of dialect.complete) yield* run(each)
        },
        { isAlone: true, isLong: true },
      ),
  }
}

interface Queries {
  /** Reads the first rows. */
  readonly first: string
  /** Reads the rows after a key. */
  readonly next: string
}

function queriesOf(
  { name, columns, key, where = 'true', compared, store = 'r.store' }: CopiedTable,
  { bytes, time, webhooks }: Sql,
): Queries {
  const textOf = ([column, type]: [string, Types[string]]) => {
    const field = column === 'store' ? store : `r.${column}`
    if (column === 'read_seq') return position(isUnread(webhooks))
    if (type === 'bytea') return bytes(field)
    if (type === 'timestamptz') return time(field)
    return type === 'boolean' ? `CAST(CAST(${field} AS integer) AS text)` : `CAST(${field} AS text)`
  }
  const texts = Object.entries(columns).map((each) => `${textOf(each)} AS ${each[0]}`)
  if (compared) texts.push(`${compared} AS compared`)
  const keys = key.map((column) => `r.${column}`).join(', ')
  const marks = key.map(() => '?').join(', ')
  const query = (condition: string) => `
    SELECT ${texts.join(', ')} FROM ${name} r WHERE ${where} ${condition}
    ORDER BY ${keys} LIMIT ?`
  return { first: query(''), next: query(`AND (${keys}) > (${marks})`) }
}

/** The `seq` after which the endpoint has not received all entries, as a text. */
const position = (isUnreadEntry: string) => `(
  SELECT CAST(min(n) - 1 AS text) FROM (
    SELECT min(a.seq) AS n FROM audit a JOIN webhook_endpoints e ON ${isUnreadEntry}
      WHERE e.endpoint_id = r.endpoint_id
    UNION ALL SELECT min(m.sequence) FROM webhook_messages m
      WHERE m.endpoint_id = r.endpoint_id AND m.state = 'waiting'
    UNION ALL SELECT coalesce(max(seq), 0) + 1 FROM audit) u)`

/** Throws when the database is an unfinished copy. */
export function* assertWhole(): Program<void> {
  if (!(yield* find('SELECT 1 FROM unfinished_copy'))) return
  const message = 'it is a copy that was not finished: delete it, and copy into an empty database'
  throw new TillError('storage_unavailable', message)
}

/** Finds a row if the database holds any account, signing key or audit entry, or part of a copy. */
const FIND_ANYTHING = `
  SELECT 1 FROM accounts UNION ALL SELECT 1 FROM signing_keys UNION ALL SELECT 1 FROM audit
  UNION ALL SELECT 1 FROM unfinished_copy LIMIT 1`
