import { COPIED_TABLES, type CopyDialect, isKeptDelivery } from '../sql/copy.ts'
import type { Database } from './connection.ts'
import { formatCell } from './copy-protocol.ts'

export function copyDialect(db: Database): CopyDialect {
  return {
    tables: {
      deliveries: { where: isKeptDelivery('p.store = r.store AND p.seq = r.purchase') },
      status_changes: {
        compared: `(SELECT p.transaction_id FROM purchases p
          WHERE p.store = r.store AND p.seq = r.purchase)`,
      },
    },
    complete: COMPLETE,
    async insertRows({ name, columns }, rows) {
      const types = Object.values(columns)
      const cellOf = (type: string, text: string | null | undefined) =>
        formatCell(type === 'bytea' ? `\\x${text}` : text)
      const lines = rows.map(
        (row) => `${types.map((type, place) => cellOf(type, row[place])).join('\t')}\n`,
      )
      const into = `${name} (${Object.keys(columns).join(', ')})`
      await db.transaction((tx) => tx.insertLines(into, lines))
    },
    async readNumberBases() {
      const rows = await db.all(READ_BASES)
      return new Map(rows.map(({ seq, base }) => [String(seq), Number(base)]))
    },
  }
}

const SEQUENCES = COPIED_TABLES.filter(({ columns }) => columns.seq === 'integer').map(
  ({ name }) => `(SELECT setval(pg_get_serial_sequence('${name}', 'seq'), max(seq)) FROM ${name})`,
)
const COMPLETE = [
  `SELECT ${SEQUENCES.join(', ')}`,
  `UPDATE stores s SET last_purchase =
    coalesce((SELECT max(seq) FROM purchases p WHERE p.store = s.seq), 0)`,
  `UPDATE webhook_endpoints SET read_xid = coalesce(
    (SELECT xid FROM audit WHERE seq <= read_seq ORDER BY seq DESC LIMIT 1), '0')`,
]

const READ_BASES = `
  SELECT seq, (sum(last_purchase) OVER (ORDER BY seq) - last_purchase)::text AS base FROM stores`
