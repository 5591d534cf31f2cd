// run: runtime
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createMemoryStorage, openSqliteStorage } from '../../lib/index.ts'
import type { Storage } from '../../lib/storage/port.ts'
import type { SqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { pragma, prototypeOf, raw, watchConnections } from '../support/connections.ts'
import { temporaryFolder } from '../support/folder.ts'
import { importRows } from '../support/storage/imports.ts'
import { NEWEST, newPath, open } from '../support/storage/places.ts'
import { insertShops, MAIN, newItem, newRow, SIDE } from '../support/storage/records.ts'
import { LATER, newIdempotencyRecord } from '../support/storage/writes.ts'
import { threadsOf } from '../support/threads.ts'

const UNAVAILABLE = { code: 'storage_unavailable' }
/** `PRAGMA synchronous=FULL`, as SQLite returns it. */
const FULL = 2

describe('the settings of a SQLite file', () => {
  test('other users of the machine cannot read the file or its WAL', async (t) => {
    const path = newPath(t)
    const umask = process.umask(0)
    t.after(() => process.umask(umask))

    await insertShops(await openSqliteStorage(path))

    const modes = ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix).mode & 0o777)
    assert.deepEqual(modes, [0o600, 0o600, 0o600])
  })

  test('every connection uses a WAL, syncs it at each commit and checks foreign keys', async (t) => {
    const path = newPath(t)
    const connections = await watchConnections(t)

    for (let i = 0; i < 2; i++) await open(t, path)

    const names = ['journal_mode', 'synchronous', 'foreign_keys']
    const opened = [...connections].slice(-2)
    const settings = opened.map((db) => names.map((name) => pragma(db, name)))
    assert.deepEqual(settings, Array(2).fill(['wal', FULL, 1]))
  })

  test('many expired idempotency records are deleted by many writes, not by one', async (t) => {
    const storage = await open(t, newPath(t))
    await insertShops(storage)
    const old = Array.from({ length: 250 }, (_, i) => newIdempotencyRecord({ key: `old-${i}` }))
    await storage.insertAudit(...old.map((idempotency) => ({ idempotency })))

    const left = []
    for (const key of ['old-249', 'new-1', 'new-2']) {
      const idempotency = newIdempotencyRecord({ key, created_at: LATER, expires_at: '2025' })
      await storage.insertItem(newItem(key), { idempotency })
      const rows = await storage.readRows('idempotency_records', { limit: 300, now: '' })
      left.push(rows.length)
    }

    assert.deepEqual(left, [150, 51, 3])
  })

  test('a list of imports uses its index, and does not read each recorded purchase', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path)
    const { mock } = t.mock.method(await prototypeOf(), 'prepare')
    await storage.listImports(MAIN, { limit: 10 })

    const sql = mock.calls.map(({ arguments: [sql] }) => sql).find((each) => /ORDER BY/.test(each))
    const plan = (await raw(t, path)).prepare(`EXPLAIN QUERY PLAN ${sql}`)
    const steps = plan.all('acc_1', 'main', '0', 11) as { readonly detail: string }[]
    assert.match(steps.at(-1)?.detail ?? '', /imports_listed \(store=\? AND seq>\?\)$/)
  })
})

describe('an unusable SQLite file', () => {
  interface Unusable {
    create(path: string, db: (path: string) => Promise<SqliteDriver>): Promise<unknown>
    readonly reason: RegExp
    readonly options?: { readonly create: false }
  }

  const UNUSABLE: Record<string, Unusable> = {
    'that a newer tillkit has written': {
      async create(path, db) {
        await (await openSqliteStorage(path)).close()
        const newer = await db(path)
        newer.exec(`PRAGMA user_version = ${NEWEST + 1}`)
        newer.close()
      },
      reason: /newer tillkit/,
    },
    'of another program': {
      async create(path, db) {
        const other = await db(path)
        other.exec('CREATE TABLE notes (text TEXT); PRAGMA user_version = 1')
        other.close()
      },
      reason: /another program/,
    },
    'with text': {
      create: async (path) => writeFileSync(path, 'A letter, not a database.\n'.repeat(1000)),
      reason: /not a database/,
    },
    'that is damaged': {
      async create(path) {
        const storage = await openSqliteStorage(path)
        await insertShops(storage)
        await storage.close()
        writeFileSync(path, readFileSync(path).fill(0xff, 100, 8192))
      },
      reason: /./,
    },
    'that is a folder': { create: async (path) => mkdirSync(path), reason: /unable to open/ },
    'that is empty, with create: false': {
      create: async (path) => writeFileSync(path, ''),
      reason: /: it has no tables$/,
      options: { create: false },
    },
    'that a killed process left without tables, with create: false': {
      async create(path, db) {
        const begun = await db(path)
        begun.exec('PRAGMA journal_mode = WAL')
        begun.close()
        assert.ok(statSync(path).size > 0)
      },
      reason: /: it has no tables$/,
      options: { create: false },
    },
    'that is missing, with create: false': {
      create: async () => {},
      reason: /: there is no such file$/,
      options: { create: false },
    },
  }
  for (const [what, { create, reason, options = {} }] of Object.entries(UNUSABLE)) {
    test(`${what} is refused and not changed`, async (t) => {
      const path = newPath(t)
      await create(path, (path) => raw(t, path))
      const read = () =>
        existsSync(path) && statSync(path).isFile() ? readFileSync(path).toString('latin1') : ''
      const [before, files] = [read(), readdirSync(dirname(path))]

      const opened = openSqliteStorage(path, options)

      await assert.rejects(opened, (error: Error & { code?: string }) => {
        assert.equal(error.code, 'storage_unavailable')
        assert.ok(error.message.startsWith(`Cannot open the database ${path}: `), error.message)
        assert.match(error.message, reason)
        return true
      })
      assert.ok(read() === before)
      assert.deepEqual(readdirSync(dirname(path)), files)
    })
  }

  test('in a folder that does not exist is refused, and the folder is not created', async (t) => {
    const folder = join(temporaryFolder(t), 'missing')

    const refused = openSqliteStorage(join(folder, 'till.db'))
    await assert.rejects(refused, { ...UNAVAILABLE, message: /ENOENT/ })

    assert.equal(existsSync(folder), false)
  })
})

/** Node 20 runs no TypeScript in threads: the query runs in the calling thread. */
const RUNS_THREADS = process.features.typescript || import.meta.url.endsWith('.js')

/** More rows than are summarized in the calling thread. */
const ROWS = Array.from({ length: 6_000 }, (_, i) =>
  newRow(i + 2, {
    ...{ user_id: `user_${i % 70}`, purchased_at: 1_709_296_496_789 + i * 7_000_000 },
    ...{ price: i, currency: i % 3 ? 'USD' : 'EUR', sku: i % 5 ? 'gold' : 'gem' },
  }),
)

describe('queries of many purchases in SQLite', () => {
  /** Counts the turns of the event loop in which a call runs. */
  const countTurns = async <T>(call: () => Promise<T>): Promise<{ found: T; turns: number }> => {
    let turns = 0
    let isDone = false
    const counting = (async () => {
      for (; !isDone; turns++) await setImmediate()
    })()
    const found = await call().finally(() => {
      isDone = true
    })
    await counting
    return { found, turns }
  }
  const ACCOUNT = { account_id: 'acc_1' }

  test('do not block the event loop, are correct, and run concurrently with different filters', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path)
    const memory = createMemoryStorage()
    for (const each of [storage, memory]) {
      await insertShops(each)
      await importRows(each, MAIN, 'imp_1', ROWS)
      await importRows(each, SIDE, 'imp_2', [newRow(2)])
    }
    const summarize = (of: Storage) => of.summarizePurchases(ACCOUNT, {}, ['day', 'sku'])

    const { found, turns } = await countTurns(() => summarize(storage))

    if (RUNS_THREADS) assert.ok(turns > 1)
    assert.ok(found.length > 400) // more than one batch of rows
    assert.deepEqual(found, await summarize(memory))
    const totals = await memory.readTotals(MAIN, {}, { by: 'day' })
    assert.deepEqual(await storage.readTotals(MAIN, {}, { by: 'day' }), totals)
    const counts = await Promise.all(
      ['gold', 'gem', 'gold'].map(async (sku) => {
        const rows = await storage.summarizePurchases(MAIN, { sku }, [])
        return rows.reduce((sum, { purchased }) => sum + purchased, 0)
      }),
    )
    assert.deepEqual(counts, [4_800, 1_200, 4_800])

    const db = await raw(t, path)
    db.exec('ALTER TABLE purchases RENAME COLUMN quantity TO hidden')
    db.exec('ALTER TABLE purchases RENAME COLUMN price TO quantity')
    await assert.rejects(summarize(storage), ({ code }) => /SQLITE_ERROR/.test(code))
    db.exec('ALTER TABLE purchases RENAME COLUMN quantity TO price')
    assert.deepEqual(await summarize(storage), found, 'after a query that failed')
  })

  test('of one user do not block the event loop either', async (t) => {
    const storage = await open(t, newPath(t))
    const memory = createMemoryStorage()
    const rows = ROWS.map((row) => ({ ...row, user_id: 'whale' }))
    for (const each of [storage, memory]) {
      await insertShops(each)
      await importRows(each, MAIN, 'imp_1', rows)
    }
    const listOwned = (of: Storage) => of.listOwned(MAIN, 'whale', { limit: 10 }, 0)

    const { found, turns } = await countTurns(() => listOwned(storage))

    if (RUNS_THREADS) assert.ok(turns > 1)
    assert.deepEqual(
      found.records.map(({ sku, quantity }) => `${quantity} ${sku}`),
      ['1200 gem', '4800 gold'],
    )
    assert.deepEqual(found, await listOwned(memory))
  })

  test('end with their signal, and those after them run', async (t) => {
    if (!RUNS_THREADS) return t.skip('this Node runs no TypeScript in threads')
    const threads = threadsOf(t)
    const storage = await open(t, newPath(t))
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', ROWS)
    const gone = new AbortController()
    const none = undefined
    const ended = storage.summarizePurchases(ACCOUNT, {}, ['day'], none, gone.signal)
    const waiting = storage.readTotals(MAIN, {}, { by: 'day' }, gone.signal)
    const next = storage.countBuyers(MAIN, 0)
    while (threads.length === 0) await setImmediate()

    gone.abort(new Error('gone'))

    await assert.rejects(ended, { message: 'gone' })
    await assert.rejects(waiting, { message: 'gone' })
    assert.equal((await next).length, 2)
    assert.equal(threads.length, 2)
  })

  test('with many recorded purchases in one store do not block, and include the other stores', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path)
    await insertShops(storage)
    const db = await raw(t, path)
    // The imports of 10,001 recorded purchases, without purchases.
    db.exec(`
      WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 10001)
      INSERT INTO imports (import_id, store, alive_at, first_purchase, last_purchase, created_at, added)
      SELECT 'rec_' || n.seq, s.seq, 0, n.seq, n.seq, '', 1
      FROM n, stores s WHERE s.account_id = 'acc_1' AND s.store_id = 'main'`)

    const { found, turns } = await countTurns(() => storage.countPurchases('acc_1', 20_000))

    assert.equal(found, 10_001)
    if (RUNS_THREADS) assert.ok(turns > 1)
    for (const store of [MAIN, SIDE]) {
      await importRows(storage, store, `imp_${store.store_id}`, [newRow(2)])
    }
    const byStore = await storage.summarizePurchases(ACCOUNT, {}, ['store'])
    const shown = byStore.map(({ store_id, purchased }) => `${store_id} ${purchased}`)
    assert.deepEqual(shown, ['main 1', 'side 1'])
  })
})
