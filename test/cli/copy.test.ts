import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openPostgresStorage, openSqliteStorage } from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { insertShops, newAccount, newKey } from '../storage/fixtures/records.ts'
import { start, tillkit, tillkitJson } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { rawPostgres, startPostgres } from '../support/postgres.ts'

const postgres = await startPostgres()

test('copy copies all data into another file, but not into one with other data', async (t) => {
  const folder = temporaryFolder(t)
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')]
  const account = await tillkitJson(['account', 'create', '--name', 'Studio', '--db', from])

  const copied = await tillkitJson(['copy', '--from', from, '--to', to])
  assert.equal(copied.accounts, 1)
  assert.match(copied.checksum, /^[0-9a-f]{64}$/)
  assert.deepEqual(await tillkitJson(['copy', '--from', from, '--to', to]), copied)
  const [listed] = await tillkitJson(['account', 'list', '--db', to])
  assert.equal(listed.account_id, account.account_id)

  await tillkitJson(['account', 'create', '--name', 'Other', '--db', from])
  const back = await tillkit(['copy', '--from', to, '--to', from])
  assert.equal(back.code, 1)
  assert.match(back.stderr, /holds other accounts/)
  const same = await tillkit(['copy', '--from', from, '--to', from])
  assert.equal(same.code, 2)
  const missing = await tillkit(['copy', '--from', `${from}x`, '--to', to])
  assert.equal(missing.code, 1)
})

/** An existing target database. */
interface Target {
  readonly db: string
  /** Blocks a copy after its accounts. Resolves to a function that unblocks it. */
  block(): Promise<() => Promise<void>>
}

const targets: Record<string, (t: TestContext) => Promise<Target>> = {
  async SQLite(t) {
    const db = join(temporaryFolder(t), 'to.db')
    await (await openSqliteStorage(db)).close()
    const driver = await openSqliteDriver(db)
    t.after(() => driver.close())
    // Counts for years: the copy gets no further than its first item.
    const accounts = Array.from({ length: 8 }, (_, i) => `accounts AS a${i}`)
    driver.exec(`CREATE TRIGGER hold BEFORE INSERT ON items BEGIN
      SELECT count(*) FROM ${accounts.join(', ')}; END`)
    return {
      db,
      async block() {
        while (!driver.prepare('SELECT 1 FROM accounts').get()) await setTimeout(1)
        return async () => void driver.exec('DROP TRIGGER hold')
      },
    }
  },
  async PostgreSQL(t) {
    const db = await postgres.createSchema(t)
    await (await openPostgresStorage(db)).close()
    const sql = rawPostgres(t, db)
    return {
      db,
      async block() {
        const blocker = await sql.reserve()
        await blocker`BEGIN`
        await blocker`LOCK TABLE items IN SHARE MODE`
        const waiting = () =>
          sql`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'items'::regclass`
        while ((await waiting()).count === 0) await setTimeout(1)
        return async () => {
          await blocker`ROLLBACK`
          blocker.release()
        }
      },
    }
  },
}

for (const [name, newTarget] of Object.entries(targets)) {
  test(`after a killed copy into ${name} only the same copy can open the target`, async (t) => {
    const from = join(temporaryFolder(t), 'from.db')
    await fill(from)
    const { db, block } = await newTarget(t)
    const copying = start(['copy', '--from', from, '--to', db], {})
    const unblock = await block()
    copying.kill('SIGKILL')
    await once(copying, 'close')
    await unblock()

    for (const command of [
      ['account', 'list', '--db', db],
      ['check', '--db', db],
      ['copy', '--from', db, '--to', `${from}-back`],
      ['serve', '--port', '0', '--db', db],
    ]) {
      const { code, stdout, stderr } = await tillkit(command)
      assert.deepEqual([code, stdout], [1, ''], command.join(' '))
      assert.match(stderr, /it is a copy that was not finished: run the same copy again/)
    }

    const { accounts, items } = await tillkitJson(['copy', '--from', from, '--to', db])
    assert.deepEqual([accounts, items], [ACCOUNTS + 2, 6])
    assert.equal((await tillkitJson(['account', 'list', '--db', db])).length, ACCOUNTS + 2)
  })
}

const ACCOUNTS = 200

async function fill(db: string): Promise<void> {
  const storage = await openSqliteStorage(db)
  await insertShops(storage)
  const names = Array.from({ length: ACCOUNTS }, (_, i) => `acc_more_${i}`)
  await Promise.all(names.map((id) => storage.insertAccount(newAccount(id), newKey(id, id))))
  await storage.close()
}
