import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { Authority } from '../../lib/domain/authority.ts'
import type { Storage } from '../../lib/index.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createSignal } from '../support/server.ts'
import { AT, insertShops, MAIN, newItem, newRow } from './fixtures/records.ts'
import { auditOf, newEntry, newIdempotencyRecord } from './fixtures/writes.ts'

const server = await startPostgres()

const KEY: Authority = { key_id: 'key_hash-1' }
const TOKEN: Authority = {
  token: { project_id: 'prj_1', user_id: 'ann', issued_under: 5, issued_at: 0 },
}

type Act = (storage: Storage) => Promise<unknown>

const auditedWrite = (authority: Authority) => ({ authority, audit: newEntry() })
const importUnder =
  (authority: Authority, import_id = 'imp_1'): Act =>
  async (storage) => {
    const current = await storage.openImport(MAIN, import_id)
    assert.ok(current)
    try {
      await current.stage([newRow(2)])
      await current.finish()
      await current.commit(auditedWrite(authority))
    } catch (error) {
      await current.abort()
      throw error
    }
  }
const updateUnder =
  (authority: Authority): Act =>
  (storage) =>
    storage.updateProject('prj_1', (each) => ({ ...each, name: 'New' }), auditedWrite(authority))

const insertItem: Act = (storage) => storage.insertItem(newItem('new'), auditedWrite(KEY))
const insertOnce: Act = (storage) =>
  storage.insertItem(newItem('new'), { ...auditedWrite(KEY), idempotency: newIdempotencyRecord() })

const revokeKey: Act = (storage) => storage.revokeAccountKey('acc_1', 'key_hash-1', AT)
const revokeUser: Act = (storage) =>
  storage.revokeTokens({ project_id: 'prj_1', user_id: 'ann', at: 9 })
const revokeAll: Act = (storage) =>
  storage.revokeTokens({ project_id: 'prj_1', user_id: '', at: 9 })
const disableProject: Act = (storage) =>
  storage.updateProject('prj_1', (each) => ({ ...each, status: 'disabled' }))
const disableStore: Act = (storage) =>
  storage.updateStore(MAIN, (each) => ({ ...each, status: 'disabled' }))

const RACES: [string, Act, string, Act, string][] = [
  ['an item', insertItem, 'its key is revoked', revokeKey, 'account_key_required'],
  ['an idempotent item', insertOnce, 'its key is revoked', revokeKey, 'account_key_required'],
  [
    "an account's update",
    updateUnder(KEY),
    'its key is revoked',
    revokeKey,
    'account_key_required',
  ],
  [
    "an account's import",
    importUnder(KEY),
    'its key is revoked',
    revokeKey,
    'account_key_required',
  ],
  ['an update', updateUnder(TOKEN), "its user's tokens are revoked", revokeUser, 'token_required'],
  ['an update', updateUnder(TOKEN), "its project's are revoked", revokeAll, 'token_required'],
  ['an update', updateUnder(TOKEN), 'its project is disabled', disableProject, 'token_required'],
  ['an import', importUnder(TOKEN), "its user's tokens are revoked", revokeUser, 'token_required'],
  ['an import', importUnder(TOKEN), 'its project is disabled', disableProject, 'token_required'],
  [
    'an import',
    importUnder({ store: MAIN }),
    'its store is disabled',
    disableStore,
    'store_inactive',
  ],
]

describe('a write and a revocation on two PostgreSQL servers', () => {
  for (const [what, write, when, revoke, code] of RACES) {
    test(`${what} waits for the commit while ${when}, and is refused`, async (t) => {
      const { slow, fast, holdCommit, waiting } = await openBoth(t)
      const commit = holdCommit()
      const revoked = revoke(slow)
      await commit.reached

      const written = write(fast)
      written.catch(() => {}) // reported below
      await waiting()
      commit.release()
      await revoked

      await assert.rejects(written, { code })
      assert.deepEqual(await auditOf(fast), [])
      assert.equal((await fast.listItems(MAIN, { limit: 9 })).items.length, 2)
      assert.deepEqual((await fast.listPurchases(MAIN, {}, { limit: 9 })).purchases, [])
      assert.equal((await fast.findProject('prj_1'))?.name, 'Game')
    })

    if (write === insertItem) continue // a single statement, which cannot be held before its commit

    test(`${what} that is being committed delays the revocation: ${when}`, async (t) => {
      const { slow, fast, holdCommit, waiting } = await openBoth(t)
      const commit = holdCommit('INSERT INTO audit')
      let isRevoked = false
      const written = write(slow)
      await commit.reached

      const revoked = revoke(fast).then(() => {
        isRevoked = true
      })
      await waiting()
      assert.equal(isRevoked, false)
      commit.release()
      await Promise.all([written, revoked])

      assert.equal((await auditOf(fast)).length, 1)
    })
  }

  test('two revocations run one after the other, even without an earlier watermark', async (t) => {
    const { slow, fast, holdCommit, waiting } = await openBoth(t)
    const commit = holdCommit()
    const first = revokeUser(slow)
    await commit.reached

    const second = revokeAll(fast)
    await waiting()
    commit.release()
    await Promise.all([first, second])

    assert.equal(await fast.findWatermark('prj_1', 'ann'), 10)
    assert.equal(await fast.findWatermark('prj_1', 'bob'), 10)
  })

  const HELD: [string, Authority, Act, string][] = [
    ['an account key', KEY, revokeKey, 'account_key_required'],
    ["a user's tokens", TOKEN, revokeUser, 'token_required'],
    ['a project', TOKEN, disableProject, 'token_required'],
    ['a store', { store: MAIN }, disableStore, 'store_inactive'],
  ]
  for (const [what, authority, revoke, code] of HELD) {
    test(`the revocation of ${what} succeeds while writers hold shared locks on its row without a gap`, async (t) => {
      const url = await server.emptySchema(t)
      const storage = await openPostgres(t, url, { max: 36, poolTimeout: 60000 })
      await insertShops(storage)
      let made = 0
      let isRevoked = false
      let acceptedLate = 0
      const write = async () => {
        const isLate = isRevoked
        const name = `load_${made++}`
        // With an account key, every other write is a single statement.
        if (made % 2 === 0) await storage.insertItem(newItem(name), auditedWrite(authority))
        else await storage.insertAudit(auditedWrite(authority))
        if (isLate) acceptedLate++
      }
      const writeOn = async (): Promise<unknown> => {
        try {
          for (;;) await write()
        } catch (error) {
          return error
        }
      }
      const writers = Array.from({ length: 80 }, writeOn)
      await setTimeout(300)

      await revoke(await openPostgres(t, url))
      isRevoked = true

      await assert.rejects(storage.insertItem(newItem('late'), auditedWrite(authority)), { code })
      const codes = (await Promise.all(writers)).map((error) => (error as { code?: unknown }).code)
      assert.deepEqual([...new Set(codes)], [code])
      assert.equal(acceptedLate, 0)
    })
  }

  test('concurrent writes and revocations do not deadlock', async (t) => {
    const failures: unknown[] = []
    const driver = drivenBy((_, send) => {
      const sent = send()
      sent.then(
        () => {},
        (error: { code?: unknown }) => failures.push(error.code),
      )
      return sent
    })
    const options = { postgres: driver, poolTimeout: 60000 }
    const storage = await openPostgres(t, await server.emptySchema(t), options)
    await insertShops(storage)
    const audit = newEntry()
    let keys = 0
    const kinds: Act[] = [
      updateUnder(TOKEN),
      updateUnder(KEY),
      (each) => each.insertItem(newItem('new'), { audit, authority: KEY }),
      (each) => each.updateStore(MAIN, (store) => store, { audit, authority: KEY }),
      (each) =>
        each.revokeTokens({ project_id: 'prj_1', user_id: 'bob', at: 9 }, { authority: KEY }),
      (each) =>
        each.rotatePublicKey(
          'prj_1',
          { public_key: `pk_${++keys}`, former_until: AT },
          { authority: KEY },
        ),
      (each) => each.insertAudit({ authority: TOKEN }),
      (each) => each.updateStore(MAIN, (store) => ({ ...store }), { audit, authority: TOKEN }),
      (each) => each.revokeAccountKey('acc_1', 'key_none', AT, { audit, authority: KEY }),
    ]

    const all = Array.from({ length: 90 }, (_, n) => kinds[n % kinds.length]?.(storage))
    await Promise.all([...all, importUnder({ ...TOKEN, store: MAIN })(storage)])

    assert.deepEqual(failures, [])
  })
})

/** Two servers on one database. `holdCommit` delays a commit of the slow one. */
async function openBoth(t: TestContext) {
  const url = await server.emptySchema(t)
  let held: { isNear: boolean; reach(): void; given: Promise<void>; after: string } | undefined
  const driver = drivenBy((sql, send) => {
    if (held && sql.includes(held.after)) held.isNear = true
    if (sql !== 'COMMIT' || !held?.isNear) return send()
    const { reach, given } = held
    held = undefined
    reach()
    return given.then(send)
  })
  const slow = await openPostgres(t, url, { postgres: driver })
  const fast = await openPostgres(t, url)
  const raw = rawPostgres(t, url)
  await insertShops(slow)
  return {
    slow,
    fast,
    /** Delays the next commit after a statement that contains this text. */
    holdCommit(after = '') {
      const reached = createSignal()
      const opened = createSignal()
      held = { isNear: false, reach: reached.give, given: opened.given, after }
      return { reached: reached.given, release: opened.give }
    },
    /** Resolves when a statement waits for a lock. */
    waiting: () => eventuallyWaits(raw),
  }
}

async function eventuallyWaits(raw: Sql): Promise<void> {
  for (let polls = 0; polls < 6_000; polls++) {
    const [row] = await raw`
      SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`
    if (row) return
    await setTimeout(10)
  }
  assert.fail('no statement waits for a lock')
}
