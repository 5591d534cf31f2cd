import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openPostgresStorage, openSqliteStorage, type Storage } from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { start } from '../support/cli.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'
import { DETAILS, openImport } from './fixtures/imports.ts'
import { insertShops, MAIN, newRow, stage } from './fixtures/records.ts'
import { newPath } from './fixtures/sqlite.ts'

const server = await startPostgres()
const ROWS = 3_000
const REQUEST = { import_id: 'imp_2', undone_at: '2026-02-02T00:00:00.000Z', force: false }
const BEFORE = { purchased: 2 * ROWS }
const AFTER = { pending: ROWS }

/** Imports pending rows, then an import that advances all of them and adds as many. */
async function fill(storage: Storage): Promise<void> {
  await insertShops(storage)
  const lines = Array.from({ length: ROWS }, (_, i) => i + 2)
  const files = [
    lines.map((line) => newRow(line, { status: 'pending' })),
    [...lines, ...lines.map((line) => line + ROWS)].map((line) => newRow(line)),
  ]
  for (const [i, rows] of files.entries()) {
    const current = await openImport(storage, MAIN, `imp_${i + 1}`)
    for (let i = 0; i < rows.length; i += 500) await current.stage(rows.slice(i, i + 500))
    await current.finish()
    await current.commit({}, DETAILS)
  }
}

/** Counts the purchases by status, in one statement. */
async function countStatuses(storage: Storage) {
  const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 3 * ROWS })
  const counts: { [status: string]: number } = {}
  for (const { status } of purchases) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Starts an undo in another process, and kills it once `isReached` or when it has ended. */
async function killUndo(t: TestContext, db: string, isReached: () => Promise<boolean>) {
  const child = start(['imports', 'undo', 'imp_2', '--account', 'acc_1', '--db', db, '--yes'], {})
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  while (child.exitCode === null && !(await isReached())) await setTimeout(1)
  child.kill('SIGKILL')
  await closed
}

/** Checks that an undo is not visible, or complete; then that another one completes it. */
async function assertWhole(storage: Storage, release: () => Promise<unknown>): Promise<void> {
  const found = await countStatuses(storage)
  assert.deepEqual(found, 'pending' in found ? AFTER : BEFORE)
  await release()
  assert.deepEqual(await storage.undoImport(MAIN, REQUEST), { outcome: 'undone' })
  assert.deepEqual(await countStatuses(storage), AFTER)
  const next = await openImport(storage, MAIN, 'imp_3')
  const staged = await stage(next, [newRow(ROWS + 2)])
  assert.equal(staged.added, 1)
  await next.commit()
  assert.deepEqual(await storage.check(), [])
}

const SQLITE_STEPS = {
  'while it stages the statuses': 'SELECT count(*) > 0 AS yes FROM purchase_changes',
  'while it deletes rows': `SELECT count(*) < ${2 * ROWS} AS yes FROM purchases`,
}

for (const [step, sql] of Object.entries(SQLITE_STEPS)) {
  const skip = step === 'while it deletes rows' ? false : soakOnly
  test(`an undo in SQLite is not half visible after kill -9 ${step}`, { skip }, async (t) => {
    const path = newPath(t)
    const storage = await openSqliteStorage(path)
    t.after(() => storage.close())
    await fill(storage)
    const db = await openSqliteDriver(path)
    t.after(() => db.close())
    const query = db.prepare(sql)

    await killUndo(t, path, async () => (query.get() as { yes: number }).yes === 1)

    await assertWhole(storage, async () => {})
  })
}

const POSTGRES_STEPS = {
  'while it restores the statuses': 'SELECT count(*) > 0 AS yes FROM imports WHERE undoes > 0',
  'while it deletes rows': `SELECT count(*) < ${2 * ROWS} AS yes FROM purchases`,
}

for (const [step, query] of Object.entries(POSTGRES_STEPS)) {
  const skip = step === 'while it deletes rows' ? false : soakOnly
  test(`an undo in PostgreSQL is not half visible after kill -9 ${step}`, { skip }, async (t) => {
    const url = await server.createSchema(t)
    const storage = await openPostgresStorage(url, PATIENT)
    t.after(() => storage.close())
    await fill(storage)
    const sql = rawPostgres(t, url)

    await killUndo(t, url, async () => (await sql.unsafe(query))[0]?.yes)

    // Waits for the transaction of the killed process, and ends its lease.
    await assertWhole(
      storage,
      () => sql`
      UPDATE imports SET alive_at = now() - interval '1 hour' WHERE owner IS NOT NULL`,
    )
  })
}
