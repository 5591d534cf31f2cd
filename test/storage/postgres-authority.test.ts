// run: early
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Authority } from '../../lib/domain/authority.ts'
import type { Storage } from '../../lib/index.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createSignal } from '../support/server.ts'
import { openImport } from '../support/storage/imports.ts'
import { AT, insertShops, MAIN, newItem, newRow } from '../support/storage/records.ts'
import { auditOf, newEntry, newIdempotencyRecord } from '../support/storage/writes.ts'

const server = await startPostgres()

const KEY: Authority = { key_id: 'key_hash-1' }
const TOKEN: Authority = {
  token: { project_id: 'prj_1', user_id: 'ann', issued_under: 5, issued_at: 0 },
}

type Act = (storage: Storage) => Promise<unknown>

const audited = (authority: Authority) => ({ authority, audit: newEntry() })
const importUnder =
  (authority: Authority): Act =>
  async (storage) => {
    const current = await openImport(storage, MAIN, 'imp_1')
    try {
      await current.add([newRow(2)])
      await current.finish()
      await current.commit(audited(authority))
    } finally {
      await current.abort()
    }
  }
const updateUnder =
  (authority: Authority): Act =>
  (storage) =>
    storage.updateProject(
      'prj_1',
      (each) => ({ record: { ...each, name: 'New' } }),
      audited(authority),
    )
const insertItem: Act = (storage) => storage.insertItem(newItem('new'), audited(KEY))
const insertOnce: Act = (storage) =>
  storage.insertItem(newItem('new'), { ...audited(KEY), idempotency: newIdempotencyRecord() })

const revokeKey: Act = (storage) =>
  storage.updateAccountKey('acc_1', 'key_hash-1', { revoked_at: AT })
const revokeTokens =
  (user_id: string): Act =>
  (storage) =>
    storage.revokeTokens({ project_id: 'prj_1', user_id, at: 9 })
const disableProject: Act = (storage) =>
  storage.updateProject('prj_1', (each) => ({ record: { ...each, status: 'disabled' } }))
const disableStore: Act = (storage) =>
  storage.updateStore(MAIN, (each) => ({ record: { ...each, status: 'disabled' } }))

const [NO_KEY, NO_TOKEN] = ['account_key_required', 'token_required']

const RACES: readonly (readonly [what: string, Act, when: string, revoke: Act, code: string])[] = [
  ['an item', insertItem, 'its key is revoked', revokeKey, NO_KEY],
  ['an idempotent item', insertOnce, 'its key is revoked', revokeKey, NO_KEY],
  ["an account's update", updateUnder(KEY), 'its key is revoked', revokeKey, NO_KEY],
  ['an update', updateUnder(TOKEN), "its project's are revoked", revokeTokens(''), NO_TOKEN],
  ['an update', updateUnder(TOKEN), 'its project is disabled', disableProject, NO_TOKEN],
  ['an import', importUnder(TOKEN), "its user's are revoked", revokeTokens('ann'), NO_TOKEN],
  [
    ...(['an import', importUnder({ store: MAIN })] as const),
    ...(['its store is disabled', disableStore, 'store_inactive'] as const),
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
      assert.deepEqual((await fast.listPurchases(MAIN, {}, { limit: 9 })).records, [])
      assert.equal((await fast.findProject('prj_1'))?.name, 'Game')
    })

    // These are single statements, which cannot be held before their commit.
    if (write === insertItem || write === insertOnce) continue

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

  const HELD: readonly (readonly [what: string, Authority, Act, code: string])[] = [
    ['an account key', KEY, revokeKey, NO_KEY],
    ['a project', TOKEN, disableProject, NO_TOKEN],
  ]
  for (const [what, authority, revoke, code] of HELD) {
    test(`the revocation of ${what} succeeds while writers hold shared locks on its row without a gap`, async (t) => {
      const url = await server.emptySchema(t)
      const storage = await openPostgres(t, url, { max: 12, poolTimeout: 60000 })
      await insertShops(storage)
      let made = 0
      let isRevoked = false
      let acceptedLate = 0
      const writeOn = async (): Promise<unknown> => {
        try {
          for (;;) {
            const isLate = isRevoked
            const name = `load_${made++}`
            // With an account key, every other write is a single statement.
            if (made % 2 === 0) await storage.insertItem(newItem(name), audited(authority))
            else await storage.insertAudit(audited(authority))
            if (isLate) acceptedLate++
          }
        } catch (error) {
          return (error as { code?: unknown }).code
        }
      }
      const writers = Array.from({ length: 30 }, writeOn)
      await setTimeout(100)

      await revoke(await openPostgres(t, url))
      isRevoked = true

      await assert.rejects(storage.insertItem(newItem('late'), audited(authority)), { code })
      assert.deepEqual([...new Set(await Promise.all(writers))], [code])
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
      insertItem,
      (each) => each.updateStore(MAIN, (record) => ({ record }), audited(KEY)),
      (each) =>
        each.revokeTokens({ project_id: 'prj_1', user_id: 'bob', at: 9 }, { authority: KEY }),
      (each) => {
        const rotation = { public_key: `pk_${++keys}`, former_until: AT }
        return each.rotatePublicKey('prj_1', rotation, { authority: KEY })
      },
      (each) => each.insertAudit({ authority: TOKEN }),
      (each) =>
        each.updateStore(MAIN, (store) => ({ record: { ...store } }), { audit, authority: TOKEN }),
      (each) => each.updateAccountKey('acc_1', 'key_none', {}, audited(KEY)),
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
    async waiting() {
      for (let polls = 0; polls < 6_000; polls++) {
        const [row] = await raw`SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`
        if (row) return
        await setTimeout(10)
      }
      assert.fail('no statement waits for a lock')
    },
  }
}
