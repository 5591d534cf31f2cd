import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createMemoryStorage, createTill, openSqliteStorage, type Till } from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { importRows } from '../storage/fixtures/imports.ts'
import { insertShops, MAIN, newRow } from '../storage/fixtures/records.ts'
import { collect, pluck } from '../support/collect.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createSignal } from '../support/server.ts'
import { createShop, failureOf, fileOf, memoryTill } from '../support/till.ts'
import { startWorker } from '../support/worker.ts'

const USER = 'player-77'
const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,metadata\n'

/** A row of a file, with metadata that contains the user. */
function rowOf(transaction_id: string, user_id: string): string {
  return `${transaction_id},gold,2024-03-01T12:34:56Z,${user_id},499,USD,"{""mail"":""${user_id}@x""}"\n`
}

/** A project with two stores, and every kind of record that can contain the user. */
async function createUser(till: Till) {
  const { account, project } = await createShop(till)
  await till.stores.create(account, {
    project_id: project.id,
    store_id: 'second',
    store_type: 'web',
  })
  const item = { display_name: 'Gold', price: '499', type: 'consumable' as const }
  await till.items.create(account, { ...item, store_id: 'second', name: 'gold' })
  for (const store_id of ['main', 'second']) {
    const file = HEADER + rowOf('a', USER) + rowOf('b', 'other') + rowOf('c', USER)
    await till.purchases.import(account, { store_id, file: fileOf(file) })
  }
  await till.sessions.revoke(account, { project_id: project.id, user_id: USER })
  return { account, project, user: { project_id: project.id, user_id: USER } }
}

async function exported(till: Till, ...args: Parameters<Till['users']['export']>) {
  return JSON.parse((await collect(till.users.export(...args))).join(''))
}

describe('the export of a user', () => {
  test('contains everything stored about the user, and nothing about others', async () => {
    const till = memoryTill()
    const { account, user, project } = await createUser(till)

    const found = await exported(till, account, user)

    assert.deepEqual(Object.keys(found), [
      'project_id',
      'user_id',
      'exported_at',
      'purchases',
      'revocations',
      'audit_entries',
    ])
    const { purchases, revocations, audit_entries } = found
    assert.deepEqual(
      purchases.map(({ store_id, transaction_id, purchased_at, metadata }: never) => [
        store_id,
        transaction_id,
        purchased_at,
        metadata,
      ]),
      ['main', 'second'].flatMap((store_id) =>
        ['a', 'c'].map((id) => [store_id, id, '2024-03-01T12:34:56.000Z', { mail: `${USER}@x` }]),
      ),
    )
    assert.equal(revocations.length, 1)
    assert.match(revocations[0].not_after, /^\d{4}-\d\d-\d\dT/)
    const actions = audit_entries.map(({ action }: { action: string }) => action)
    assert.deepEqual(actions, ['tokens.revoke', 'users.export'])
    assert.doesNotMatch(audit_entries[1].subject, /player/)
    assert.equal(audit_entries[0].subject, `${project.id}/${USER}`)
    const nobody = await exported(till, account, { project_id: project.id, user_id: 'play' })
    assert.deepEqual([nobody.purchases, nobody.revocations], [[], []])
  })

  test('contains every purchase, also when they need several pages', async () => {
    const till = memoryTill()
    const { account, user } = await createUser(till)
    const rows = Array.from({ length: 2_500 }, (_, i) => rowOf(`more-${i}`, USER))
    await till.purchases.import(account, { store_id: 'main', file: fileOf(HEADER, ...rows) })

    const chunks = await collect(till.users.export(account, user))

    assert.equal(JSON.parse(chunks.join('')).purchases.length, 2_504)
    const bytes = chunks.map(({ length }) => length)
    assert.ok(Math.max(...bytes) < bytes.reduce((sum, each) => sum + each) / 2)
  })
})

describe('the erasure of a user', () => {
  test('keeps amounts, and removes the user everywhere', async () => {
    const storage = createMemoryStorage()
    const till = createTill({ storage })
    const { account, user } = await createUser(till)
    const progress: number[] = []
    const summarize = () => till.purchases.summarize(account, { store_id: 'main' })
    const [before] = await summarize()

    const onProgress = (count: number) => void progress.push(count)
    const { pseudonym, purchases } = await till.users.erase(account, user, { onProgress })

    assert.equal(purchases, 4)
    assert.deepEqual(progress, [2, 4])
    assert.equal(before?.buyers, 2)
    assert.deepEqual(await summarize(), [{ ...before, buyers: 1 }])
    const [first] = (await till.purchases.list(account, { store_id: 'main' })).purchases
    assert.equal(first?.user_id, undefined)
    assert.deepEqual(first?.metadata, {})
    const { entries } = await till.operations.listAudit({ limit: 100 })
    assert.doesNotMatch(JSON.stringify(entries), /player-77/)
    const named = entries.filter(({ subject }) => subject === `${user.project_id}/${pseudonym}`)
    assert.deepEqual(pluck(named, 'action'), ['tokens.revoke', 'users.erase'])
    const again = await exported(till, account, user)
    assert.deepEqual(again.purchases, [])
  })

  test('of a user whose id is a part of an idempotency key leaves the key as it is', async () => {
    const till = memoryTill()
    const { account, user } = await createUser(till)
    const create = async () => {
      const item = { name: 'axe', display_name: 'Axe', price: '1', type: 'consumable' as const }
      const options = { idempotencyKey: 'create/1' }
      return till.items.create(account, { ...item, store_id: 'main' }, options)
    }
    const first = await create()

    await till.users.erase(account, { ...user, user_id: '1' })

    assert.deepEqual(await create(), first)
  })

  test('says whether anything was stored: a purchase or a revocation', async () => {
    const till = memoryTill()
    const { account, user } = await createUser(till)
    const { project_id } = user
    const erase = async (user_id: string) =>
      (await till.users.erase(account, { project_id, user_id })).found
    await till.sessions.revoke(account, { project_id, user_id: 'revoked' })

    for (const known of ['other', 'revoked']) assert.equal(await erase(known), true)
    for (const unknown of ['nobody', 'other', 'revoked']) assert.equal(await erase(unknown), false)
  })

  test('can delete the purchases, which cannot be imported again then', async () => {
    const till = memoryTill()
    const { account, user } = await createUser(till)

    const { purchases } = await till.users.erase(account, user, { delete: true })

    assert.equal(purchases, 4)
    const list = async () => (await till.purchases.list(account, { store_id: 'main' })).purchases
    assert.deepEqual(pluck(await list(), 'user_id'), ['other'])
    const file = fileOf(HEADER + rowOf('a', USER) + rowOf('d', 'new'))
    const again = await till.purchases.import(account, { store_id: 'main', file })
    assert.deepEqual([again.added, again.skipped], [1, 1])
    assert.equal((await list()).length, 2)
  })

  test('leaves a user who owns nothing and whose purchases cannot be recorded again', async () => {
    const till = memoryTill()
    const { account, user } = await createUser(till)
    const store_id = 'main'
    const row = { store_id, sku: 'gold', user_id: USER, price: 499, currency: 'USD' }
    const record = (transaction_id: string) =>
      till.purchases.record(account, {
        ...row,
        transaction_id,
        purchased_at: '2024-03-01T12:34:56Z',
      })
    const owned = async () =>
      (await till.purchases.owned(account, { store_id, user_id: USER })).owned.length

    assert.equal(await owned(), 1)
    await till.users.erase(account, user)
    const { outcome, purchase } = await record('a')
    assert.deepEqual([outcome, purchase?.user_id, purchase?.metadata], ['skipped', undefined, {}])
    assert.equal(await owned(), 0)

    assert.equal((await record('new')).outcome, 'added')
    assert.equal(await owned(), 1)
    await till.users.erase(account, user, { delete: true })
    assert.deepEqual(await record('new'), { outcome: 'skipped' })
    assert.equal(await owned(), 0)
  })

  test('leaves revoked tokens revoked', async () => {
    const till = memoryTill()
    const { account, project } = await createUser(till)
    const issue = { project_id: project.id, user_id: USER }
    const { token } = await till.sessions.issue(account, issue)
    await till.sessions.revoke(account, issue)

    await till.users.erase(account, issue)

    const failure = await failureOf(till.sessions.authenticate(token))
    assert.equal(failure.code, 'token_required')
    const { token: later } = await till.sessions.issue(account, issue)
    assert.equal((await till.sessions.authenticate(later)).user_id, USER)
  })

  test('does not affect the same user id in another project', async () => {
    const till = memoryTill()
    const { account, user } = await createUser(till)
    const other = await createUser(till)
    const before = await exported(till, other.account, other.user)

    await till.users.erase(other.account, { ...other.user, user_id: 'nobody' })
    await till.users.erase(account, user)

    const after = await exported(till, other.account, other.user)
    assert.deepEqual(after.purchases, before.purchases)
    assert.deepEqual(after.revocations, before.revocations)
  })

  test('refuses a revoked key and unknown fields, and changes nothing', async () => {
    const till = memoryTill()
    const { account, user } = await createUser(till)
    const { key_id, account_key } = await till.accounts.addKey(account)
    const keyed = await till.accounts.authenticate(account_key)
    await till.accounts.revokeKey(account, key_id)

    assert.equal((await failureOf(till.users.erase(keyed, user))).code, 'account_key_required')
    const refused = await failureOf(collect(till.users.export(keyed, user)))
    assert.equal(refused.code, 'account_key_required')
    const unknown = { ...user, email: 'x' }
    assert.equal((await failureOf(till.users.erase(account, unknown))).code, 'invalid_request')
    await assert.rejects(till.users.erase(account, user, { deletes: true } as never), TypeError)
    assert.equal((await exported(till, account, user)).purchases.length, 4)
  })

  test('waits for a running import, and erases its rows too', async () => {
    const till = memoryTill()
    const { account, user } = await createUser(till)
    const { given: finished, give: finish } = createSignal()
    async function* slowFile() {
      yield Buffer.from(HEADER + rowOf('late', USER))
      await finished
    }
    const importing = till.purchases.import(account, { store_id: 'main', file: slowFile() })

    const erasing = till.users.erase(account, user)
    finish()

    assert.equal((await importing).added, 1)
    assert.equal((await erasing).purchases, 5)
  })
})

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`the files of SQLite with ${driver}`, { skip }, () => {
    const openTill = async (t: TestContext, path: string) => {
      const till = createTill({ storage: await openSqliteStorage(path, { driver }) })
      t.after(() => till.close())
      return till
    }

    for (const deletes of [false, true]) {
      test(`contain no trace of an erased user, with delete: ${deletes}`, async (t) => {
        const path = join(temporaryFolder(t), 'till.db')
        const till = await openTill(t, path)
        const { account, user } = await createUser(till)
        const users = Array.from({ length: 3_000 }, (_, i) => (i % 3 ? USER : `other-${i}`))
        const rows = users.map((user_id, i) => rowOf(`tx-${i}`, user_id))
        await till.purchases.import(account, { store_id: 'main', file: fileOf(HEADER, ...rows) })
        const dryRun = { store_id: 'main', dryRun: true }
        const unused = [rowOf('dry-1', USER), rowOf('dry-2', USER)]
        await till.purchases.import(account, { ...dryRun, file: fileOf(HEADER, ...unused) })
        assert.ok(findBytes(path, USER) + findBytes(`${path}-wal`, USER) > 0)

        await till.users.erase(account, user, { delete: deletes })

        assert.equal(findBytes(path, USER), 0)
        assert.equal(findBytes(`${path}-wal`, USER), 0)
        assert.equal(statSync(`${path}-wal`).size, 0)
        assert.deepEqual(await till.operations.check(), [])
      })
    }

    test('contain no trace of a user after an interrupted and repeated erasure', async (t) => {
      const path = join(temporaryFolder(t), 'till.db')
      const storage = await openSqliteStorage(path, { driver })
      t.after(() => storage.close())
      await insertShops(storage)
      const rows = [2, 3, 4].map((line) => newRow(line, { user_id: USER }))
      await importRows(storage, MAIN, 'imp_1', rows)
      const worker = startWorker(t)
      await worker.ask('open', path, driver)
      assert.equal(await worker.ask('openImport', 'imp_lease'), true)
      assert.equal(await worker.ask('erase', USER, 'tx_2', 'tx_3'), 2)
      await worker.kill()

      const till = createTill({ storage })
      const user = { project_id: 'prj_1', user_id: USER }
      const account = await till.accounts.get('acc_1')
      const { purchases } = await till.users.erase(account, user, { delete: true })

      assert.equal(purchases, 1)
      assert.equal(findBytes(path, USER) + findBytes(`${path}-wal`, USER), 0)
      assert.equal(await storage.countRows('erased_purchases'), 3)
      assert.deepEqual(await storage.check(), [])
    })

    test('let only an erasure change the audit log, and only to insert its pseudonym', async (t) => {
      const path = join(temporaryFolder(t), 'till.db')
      const till = await openTill(t, path)
      await createUser(till)
      const db = await openSqliteDriver(path, driver)
      t.after(() => db.close())

      db.exec("BEGIN; INSERT INTO audit_pseudonym VALUES ('erased:x')")
      for (const change of [
        "subject = 'other'",
        "actor = 'other'",
        "subject = 'erased:x', action = 'item.create'",
        "subject = 'erased:x', at = ''",
        "subject = 'erased:x', account_id = ''",
        "subject = 'erased:x', seq = 99",
      ]) {
        assert.throws(() => db.exec(`UPDATE audit SET ${change}`), /append-only/)
      }
      db.exec("UPDATE audit SET subject = 'prj/erased:x'; ROLLBACK")
      assert.throws(() => db.exec("UPDATE audit SET subject = 'prj/erased:x'"), /append-only/)
    })
  })
}

function findBytes(path: string, text: string): number {
  return readFileSync(path).toString('latin1').split(text).length - 1
}
