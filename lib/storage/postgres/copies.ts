import type { CopyMethods } from '../port.ts'
import {
  COPIED_TABLES,
  copiedTwice,
  FIND_UNFINISHED,
  copyMethods as sharedMethods,
  tableNamed,
  unfinishedError,
} from '../sql/copy.ts'
import type { Sql } from '../sql/dialect.ts'
import type { Connection, Database } from './connection.ts'
import { copyCell } from './copy.ts'
import { isUniqueViolation } from './drivers.ts'
import { WEBHOOKS } from './endpoints.ts'

export function copyMethods(db: Database, sql: Sql): CopyMethods {
  return {
    ...sharedMethods(sql, {
      hex: (column) => `encode(${column}, 'hex')`,
      time: (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
      tables: {
        status_changes: {
          compared: `(SELECT p.transaction_id FROM purchases p
            WHERE p.store = r.store AND p.seq = r.purchase)`,
        },
      },
      isUnread: WEBHOOKS.isUnread,
    }),
    async countRows(name) {
      const count = `SELECT count(*) AS n FROM ${name}`
      return Number((await db.transaction((tx) => tx.find(count), LIMITS))?.n)
    },
    async insertRows(name, rows) {
      const { columns } = tableNamed(name)
      const types = Object.values(columns)
      const cellOf = (type: string, text: string | null | undefined) =>
        copyCell(type === 'bytea' ? `\\x${text}` : text)
      const lines = rows.map(
        (row) => `${types.map((type, place) => cellOf(type, row[place])).join('\t')}\n`,
      )
      try {
        const into = `${name} (${Object.keys(columns).join(', ')})`
        await db.transaction((tx) => tx.copy(into, lines))
      } catch (error) {
        throw isUniqueViolation(error) ? copiedTwice() : error
      }
    },
    completeCopy: () => db.transaction((tx) => tx.exec(COMPLETE), LIMITS),
    async readNumberBases() {
      const rows = await db.all(READ_BASES)
      return new Map(rows.map(({ seq, base }) => [String(seq), Number(base)]))
    },
  }
}

const LIMITS = { timeout: 10 * 60_000 }

const COMPLETE = `
  ${COPIED_TABLES.filter(({ columns }) => columns.seq === 'integer')
    .map(
      ({ name }) =>
        `SELECT setval(pg_get_serial_sequence('${name}', 'seq'), max(seq)) FROM ${name};`,
    )
    .join('\n')}
  UPDATE stores s SET last_purchase =
    coalesce((SELECT max(seq) FROM purchases p WHERE p.store = s.seq), 0);
  UPDATE webhook_endpoints SET read_xid = coalesce(
    (SELECT xid FROM audit WHERE seq <= read_seq ORDER BY seq DESC LIMIT 1), '0');`

const READ_BASES = `
  SELECT seq, (sum(last_purchase) OVER (ORDER BY seq) - last_purchase)::text AS base FROM stores`

/** Throws when the database is an unfinished copy. */
export async function assertWhole(on: Connection): Promise<void> {
  if (await on.find(FIND_UNFINISHED)) throw unfinishedError()
}
