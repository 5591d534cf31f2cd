import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test as testOnce } from 'node:test'
import { createTill, openSqliteStorage, type Till } from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createSignal } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { importRows } from '../support/storage/imports.ts'
import { insertShops, MAIN, newRow } from '../support/storage/records.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'
import { startWorker } from '../support/worker.ts'

const USER = 'player-77'
const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,metadata\n'

/** A row of a file, with metadata that contains the user. */
function rowOf(transaction_id: string, user_id: string): string {
  return `${transaction_id},gold,2024-03-01T12:34:56Z,${user_id},499,USD,"{""mail"":""${user_id}@x""}"\n`
}

/** A project with two stores, and every kind of record that can contain the user. */
async function createUser(on?: Till) {
  const shop = await createShop(on)
  const { till, account, project_id } = shop
  const user = { project_id, user_id: USER }
  await till.stores.create(account, { project_id, store_id: 'second', store_type: 'web' })
  const item = { display_name: 'Gold', price: '499', type: 'consumable' as const }
  await till.items.create(account, { ...item, store_id: 'second', name: 'gold' })
  const load = (store_id: string, ...rows: string[]) =>
    till.purchases.import(account, { store_id, file: fileOf(HEADER, ...rows) })
  for (const store_id of ['main', 'second']) {
    await load(store_id, rowOf('a', USER), rowOf('b', 'other'), rowOf('c', USER))
  }
  await till.sessions.revoke(account, user)
  return {
    ...{ till, account, project_id, user, load },
    list: async () => (await till.purchases.list(account, { store_id: 'main' })).purchases,
    exported: async (of: object = {}) =>
      JSON.parse((await collect(till.users.export(account, { ...user, ...of }))).join('')),
  }
}

test('the export of a user has everything stored about the user, and nothing about others', async () => {
  const { till, account, user, project_id, load, exported } = await createUser()

  const found = await exported()

  const { purchases, revocations, audit_entries } = found
  const actions = audit_entries.map(({ action }: { action: string }) => action)
  const lists = ['purchases', 'revocations', 'audit_entries']
  assert.deepEqual(Object.keys(found), ['project_id', 'user_id', 'exported_at', ...lists])
  assert.deepEqual(
    purchases.map(({ store_id, transaction_id, purchased_at, metadata }: never) => [
      ...[store_id, transaction_id, purchased_at, metadata],
    ]),
    ['main', 'second'].flatMap((store_id) =>
      ['a', 'c'].map((id) => [store_id, id, '2024-03-01T12:34:56.000Z', { mail: `${USER}@x` }]),
    ),
  )
  assert.equal(revocations.length, 1)
  assert.match(revocations[0].not_after, /^\d{4}-\d\d-\d\dT/)
  assert.deepEqual(actions, ['tokens.revoke', 'users.export'])
  assert.doesNotMatch(audit_entries[1].subject, /player/)
  assert.equal(audit_entries[0].subject, `${project_id}/${USER}`)
  const nobody = await exported({ user_id: 'play' })
  assert.deepEqual([nobody.purchases, nobody.revocations], [[], []])

  // In several pages.
  await load('main', ...Array.from({ length: 2_500 }, (_, i) => rowOf(`more-${i}`, USER)))
  const chunks = await collect(till.users.export(account, user))
  assert.equal(JSON.parse(chunks.join('')).purchases.length, 2_504)
  const bytes = chunks.map(({ length }) => length)
  assert.ok(Math.max(...bytes) < bytes.reduce((sum, each) => sum + each) / 2)
})

test('an erasure keeps amounts, and removes the user everywhere', async () => {
  const { till, account, user, project_id, list, exported } = await createUser()
  const other = await createUser(till)
  const kept = await other.exported()
  const item = { name: 'axe', display_name: 'Axe', price: '1', type: 'consumable' as const }
  const create = () =>
    till.items.create(account, { ...item, store_id: 'main' }, { idempotencyKey: 'create/1' })
  const axe = await create()
  const { token } = await till.sessions.issue(account, user)
  await till.sessions.revoke(account, user)
  for (const user_id of ['revoked', `${USER}x`]) {
    await till.sessions.revoke(account, { project_id, user_id })
  }
  const summarize = () => till.purchases.summarize(account, { store_id: 'main' })
  const [before] = await summarize()
  const progress: number[] = []
  const onProgress = (count: number) => void progress.push(count)

  const erased = await till.users.erase(account, user, { onProgress })

  const { pseudonym, purchases, found } = erased
  assert.deepEqual([purchases, found, progress], [4, true, [2, 4]])
  assert.equal(before?.buyers, 2)
  assert.deepEqual(await summarize(), [{ ...before, buyers: 1 }])
  const [first] = await list()
  assert.deepEqual([first?.user_id, first?.metadata], [undefined, {}])
  const entries = await collect(till.operator.allAudit({ account_id: account.account_id }))
  assert.doesNotMatch(JSON.stringify(entries), /player-77\b/)
  const named = entries.filter(({ subject }) => subject === `${project_id}/${pseudonym}`)
  assert.deepEqual(pluck(named, 'action'), ['tokens.revoke', 'tokens.revoke', 'users.erase'])
  assert.deepEqual((await exported()).purchases, [])
  const failure = await failureOf(till.sessions.authenticate(token))
  assert.equal(failure.code, 'token_required')
  const { token: later } = await till.sessions.issue(account, user)
  assert.equal((await till.sessions.authenticate(later)).user_id, USER)

  const erase = async (user_id: string) =>
    (await till.users.erase(account, { project_id, user_id })).found
  for (const known of ['other', 'revoked']) assert.equal(await erase(known), true)
  for (const unknown of ['nobody', 'other', 'revoked']) assert.equal(await erase(unknown), false)
  // A user whose id is a part of an idempotency key leaves the key as it is.
  await erase('1')
  assert.deepEqual(await create(), axe)
  // The same user of another project stays.
  const { purchases: theirs, revocations } = await other.exported()
  assert.deepEqual([theirs, revocations], [kept.purchases, kept.revocations])
})

test('an erased purchase is not owned, imported or recorded again', async () => {
  const { till, account, user, load, list } = await createUser()
  const row = { store_id: 'main', sku: 'gold', user_id: USER, price: 499, currency: 'USD' }
  const record = (transaction_id: string) =>
    till.purchases.record(account, { ...row, transaction_id, purchased_at: '2024-03-01T12:34:56Z' })
  const owned = async () =>
    (await till.purchases.owned(account, { store_id: 'main', user_id: USER })).owned.length

  assert.equal(await owned(), 1)
  await till.users.erase(account, user)
  const { outcome, purchase } = await record('a')
  assert.deepEqual([outcome, purchase?.user_id, purchase?.metadata], ['skipped', undefined, {}])
  assert.equal(await owned(), 0)

  assert.equal((await record('new')).outcome, 'added')
  assert.equal((await till.users.erase(account, { ...user, delete: true })).purchases, 1)
  assert.deepEqual(await record('new'), { outcome: 'skipped' })
  const again = await load('main', rowOf('new', USER), rowOf('d', 'later'))
  assert.deepEqual([again.added, again.skipped], [1, 1])
  assert.equal(await owned(), 0)
  assert.deepEqual(pluck(await list(), 'user_id'), [undefined, 'other', undefined, 'later'])
})

testOnce('an erasure refuses unknown fields and options, and changes nothing', async () => {
  const { till, account, user, exported } = await createUser()
  const unknown = till.users.erase(account, { ...user, email: 'x' } as never)
  assert.equal((await failureOf(unknown)).code, 'invalid_request')
  await assert.rejects(till.users.erase(account, user, { deletes: true } as never), TypeError)
  assert.equal((await exported()).purchases.length, 4)
})

test('an erasure waits for a running import, and one that was aborted can be finished', async () => {
  const { till, account, user } = await createUser()
  const { given: finished, give: finish } = createSignal()
  async function* slowFile() {
    yield Buffer.from(HEADER)
    for (let i = 0; i < 1_200; i++) yield Buffer.from(rowOf(`late-${i}`, USER))
    await finished
  }
  const importing = till.purchases.import(account, { store_id: 'main', file: slowFile() })
  const controller = new AbortController()
  const onProgress = () => controller.abort()

  const erasing = till.users.erase(account, user, { signal: controller.signal, onProgress })
  const aborted = assert.rejects(erasing, { name: 'AbortError' })
  finish()

  assert.equal((await importing).added, 1_200)
  await aborted
  const { purchases } = await till.users.erase(account, user)
  assert.ok(purchases > 0 && purchases < 1_204, String(purchases))
})

for (const { driver, skip } of await sqliteDrivers()) {
  testOnce(`SQLite files have no trace of an erased user, with ${driver}`, { skip }, async (t) => {
    for (const deletes of [false, true]) {
      const path = join(temporaryFolder(t), 'till.db')
      const till = createTill({ storage: await openSqliteStorage(path, { driver }) })
      t.after(() => till.close())
      const { account, user, load } = await createUser(till)
      const users = Array.from({ length: 3_000 }, (_, i) => (i % 3 ? USER : `other-${i}`))
      await load('main', ...users.map((user_id, i) => rowOf(`tx-${i}`, user_id)))
      const file = fileOf(HEADER, rowOf('dry-1', USER), rowOf('dry-2', USER))
      await till.purchases.import(account, { store_id: 'main', dryRun: true, file })
      assert.ok(findBytes(path, USER) + findBytes(`${path}-wal`, USER) > 0)

      await till.users.erase(account, { ...user, delete: deletes })

      assert.equal(findBytes(path, USER), 0)
      assert.equal(findBytes(`${path}-wal`, USER), 0)
      assert.equal(statSync(`${path}-wal`).size, 0)
      assert.deepEqual(await till.operator.check(), [])
    }
  })

  testOnce(
    `a killed erasure can be repeated, with ${driver}`,
    { skip: skip || soakOnly }, // waits until the lease of the killed process has ended
    async (t) => {
      const path = join(temporaryFolder(t), 'till.db')
      const storage = await openSqliteStorage(path, { driver })
      t.after(() => storage.close())
      await insertShops(storage)
      const rows = Array.from({ length: 503 }, (_, line) => newRow(line, { user_id: USER }))
      await importRows(storage, MAIN, 'imp_1', rows)
      const worker = startWorker(t)
      await worker.ask('open', path, driver)
      await assert.rejects(worker.ask('eraseAndDie', USER), /died/)

      const till = createTill({ storage })
      const user = { project_id: 'prj_1', user_id: USER }
      const account = await till.accounts.get('acc_1')
      const { purchases } = await till.users.erase(account, { ...user, delete: true })

      assert.equal(purchases, 3)
      assert.equal(findBytes(path, USER) + findBytes(`${path}-wal`, USER), 0)
      const erased = await storage.readRows('erased_purchases', { limit: 999, now: '' })
      assert.equal(erased.length, 503)
      assert.deepEqual(await storage.check(), [])
    },
  )
}

function findBytes(path: string, text: string): number {
  return readFileSync(path).toString('latin1').split(text).length - 1
}
