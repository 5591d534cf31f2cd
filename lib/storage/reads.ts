import type { Row, Table } from './columns.ts'
import { recordPage } from './pages.ts'
import type { CopyMethods, Page } from './port.ts'
import { finishedImports } from './sql/purchases.ts'
import { IMPORT_OVERLAPS, STATUS_CHANGES, storedImport } from './tables.ts'

// The reads that both SQL adapters do with the same statement.

type Value = string | number

/** The methods of a connection that read. SQLite returns rows directly, PostgreSQL in a promise. */
export interface Reader {
  find(sql: string, ...values: Value[]): Row | undefined | Promise<Row | undefined>
  all(sql: string, ...values: Value[]): Row[] | Promise<Row[]>
}

type CopyReads = 'listAllImports' | 'listStatusChanges' | 'listOverlaps'

/**
 * The reads of imports that only a copy needs. `created_at` is the SQL for the time at which import
 * `i` started. `of` is the SQL that joins a status change `c` with its purchase `p`.
 */
export function copyReads(
  db: Reader,
  created_at: string,
  of: string,
): Pick<CopyMethods, CopyReads> {
  const imports = `
    ${finishedImports(created_at)} AND i.seq > CAST(? AS bigint) ORDER BY i.seq LIMIT ?`
  const changes = `
    SELECT c.import, c.purchase AS other, i.import_id, p.transaction_id, c.before, c.after
    FROM status_changes c JOIN imports i ON i.seq = c.import JOIN purchases p ON ${of}
    WHERE i.undone_at IS NULL ${pageOfPairs('c.import, c.purchase')}`
  const overlaps = `
    SELECT o.import, o.earlier AS other, i.import_id, e.import_id AS earlier_id, o.rows
    FROM import_overlaps o JOIN imports i ON i.seq = o.import JOIN imports e ON e.seq = o.earlier
    WHERE i.owner IS NULL AND i.undone_at IS NULL AND e.undone_at IS NULL
      ${pageOfPairs('o.import, o.earlier')}`
  const listPairs = async <R>(sql: string, { read }: Table<R>, page: Page) => {
    const [first = 0, second = 0] = page.after?.split('.').map(Number) ?? []
    const rows = await db.all(sql, first, second, page.limit + 1)
    return recordPage(rows, page, read, (row) => `${row.import}.${row.other}`)
  }
  return {
    async listAllImports(page) {
      const rows = await db.all(imports, page.after ?? '0', page.limit + 1)
      return recordPage(rows, page, storedImport, ({ seq }) => seq)
    },
    listStatusChanges: (page) => listPairs(changes, STATUS_CHANGES, page),
    listOverlaps: (page) => listPairs(overlaps, IMPORT_OVERLAPS, page),
  }
}

// The `?` have no casts: with casts, SQLite would use only the first column of the index.
function pageOfPairs(columns: string): string {
  return `AND (${columns}) > (?, ?) ORDER BY ${columns} LIMIT ?`
}
