import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { copyStorage } from '../../lib/index.ts'
import { raw } from '../support/connections.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { openSqlite } from '../support/sqlite.ts'
import { fill } from './fixtures/everything.ts'

// A new table or column belongs into a copy, or into one of these lists with a reason.

const NOT_COPIED: { readonly [table: string]: string } = {
  audit_archive: 'has rows only within a transaction',
  audit_pseudonym: 'has rows only within a transaction',
  cache_version: 'counts the changes of one file',
  purchase_changes: 'a source moves its rows into purchases before the copy',
  sqlite_sequence: 'is written by SQLite',
  tillkit_migrations: 'each database has its own',
  unfinished_copy: 'marks the target until the copy is finished',
  webhook_messages: 'the endpoint reads the entries of waiting messages again',
}

/** The state of one server or database. */
const OWN_COLUMNS: { readonly [table: string]: readonly string[] } = {
  audit: ['xid'],
  imports: ['owner', 'alive_at', 'undoes'],
  webhook_endpoints: ['read_seq', 'read_xid', 'started', 'started_by', 'holder', 'lease_until'],
}

type Row = { readonly [column: string]: unknown }
type Tables = Map<string, readonly Row[]>

/** Asserts that every table is copied whole, and that the source has a value in each column. */
function assertCopied(source: Tables, target: Tables): void {
  assert.deepEqual([...target.keys()], [...source.keys()])
  for (const [table, rows] of source) {
    if (table in NOT_COPIED) continue
    const own = OWN_COLUMNS[table] ?? []
    const compared = (all: readonly Row[]) =>
      all.map((row) =>
        JSON.stringify(Object.entries(row).filter(([column]) => !own.includes(column))),
      )
    assert.notEqual(rows.length, 0, `the fixture has no rows for ${table}`)
    for (const column of Object.keys(rows[0] as Row)) {
      if (own.includes(column)) continue
      const hasValue = rows.some((row) => row[column] !== null)
      assert.ok(hasValue, `the fixture has no values for ${table}.${column}`)
    }
    const copied = compared(target.get(table) ?? [])
    assert.deepEqual(copied.toSorted(), compared(rows).toSorted(), `of ${table}`)
  }
}

for (const { driver, skip } of await sqliteDrivers()) {
  test(`a copy has every row and column of SQLite with ${driver}`, { skip }, async (t) => {
    const folder = temporaryFolder(t)
    const openFile = async (name: string) => {
      const path = join(folder, name)
      const storage = await openSqlite(path, { driver })
      t.after(() => storage.close())
      const db = await raw(t, path, driver)
      const tables = () => {
        const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
        return new Map(
          (names as { name: string }[]).map(({ name }) => {
            return [name, db.prepare(`SELECT * FROM ${name}`).all() as Row[]] as const
          }),
        )
      }
      return { storage, tables }
    }
    const [source, target] = [await openFile('source.db'), await openFile('target.db')]
    await fill(source.storage)

    await copyStorage(source.storage, target.storage)

    assertCopied(source.tables(), target.tables())
  })
}

const server = await startPostgres()

test('a copy has every row and column of PostgreSQL', async (t) => {
  const openSchema = async () => {
    const url = await server.createSchema(t)
    const storage = await openPostgres(t, url)
    const sql = rawPostgres(t, url)
    const tables = async (): Promise<Tables> => {
      const names = await sql`SELECT tablename AS name FROM pg_tables
        WHERE schemaname = current_schema() ORDER BY name`
      const all: [string, Row[]][] = []
      for (const { name } of names) all.push([name, await sql.unsafe(`SELECT * FROM ${name}`)])
      return new Map(all)
    }
    return { storage, tables }
  }
  const [source, target] = [await openSchema(), await openSchema()]
  await fill(source.storage)

  await copyStorage(source.storage, target.storage)

  assertCopied(await source.tables(), await target.tables())
})
