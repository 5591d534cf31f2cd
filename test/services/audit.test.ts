import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test as testOnce } from 'node:test'
import {
  type AuditEntry,
  createTill,
  formatInstant,
  openSqliteStorage,
  type Till,
  type TillOptions,
} from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import {
  file,
  importBy,
  type KeyedShop,
  REQUEST_ID,
  WRITES,
  type Write,
} from '../support/services/writes.ts'
import { createClock, createShop, NOW, openStorage } from '../support/till.ts'

const OPTIONS = { requestId: REQUEST_ID }
const byKey = ({ key }: KeyedShop) => `key:${key.key_id}`
const byToken = ({ session }: KeyedShop) => `token:${session.token_id}`

/** Each change, and the actor of its audit entry. */
const CHANGES: readonly [name: string, Write, actorOf: (shop: KeyedShop) => string][] = [
  ...Object.entries(WRITES).map(([name, write]): (typeof CHANGES)[0] => [name, write, byKey]),
  [
    'projects.update of a session',
    {
      action: 'project.update',
      about: ({ project_id }) => ({ project_id }),
      make: async ({ till, session, project_id: id }) =>
        (await till.projects.update(session, { id, name: 'New' }, OPTIONS)).id,
    },
    byToken,
  ],
  ['purchases.import of a session', importBy(({ session }) => session), byToken],
]

describe('the audit log', () => {
  for (const [name, { action, prepare, make, about, fail }, actorOf] of CHANGES) {
    test(`has one entry for a change, and none when it is refused or revoked: ${name}`, async () => {
      const shop = await setUp()
      await prepare?.(shop)
      shop.clock.pass(1000)
      const before = await entriesOf(shop.till)
      if (fail) await assert.rejects(fail(shop))
      assert.deepEqual(await entriesOf(shop.till), before)

      const subject = await make(shop)

      const entry = {
        at: '2024-03-01T12:34:57.789Z',
        actor: actorOf(shop),
        action,
        subject,
        account_id: shop.account_id,
        project_id: '',
        store_id: '',
        request_id: REQUEST_ID,
        ...about?.(shop, subject),
      }
      assert.deepEqual(await entriesOf(shop.till), [...before, entry])
      await shop.till.sessions.revoke(shop.account, { project_id: shop.project_id })
      const operator = await shop.till.accounts.get(shop.account_id)
      await shop.till.accounts.revokeKey(operator, shop.key.key_id)
      const revoked = await entriesOf(shop.till)
      await assert.rejects(make(shop), /account key|token/)
      assert.deepEqual(await entriesOf(shop.till), revoked)
    })
  }

  for (const masterKeys of [[], [new Uint8Array(32)]]) {
    test(`has no entry for what changes nothing, with ${masterKeys.length} master keys`, async () => {
      const shop = await setUp({ masterKeys })
      const { till, key, session, project, account } = shop
      const { id, public_key } = project
      const config = { webhook_secret: 'whs_1', custom_settings: { a: [1, 0], b: { c: null } } }
      const { webhook_secret: _, ...withoutSecret } = config
      const reordered = {
        custom_settings: { b: { c: null }, a: [1, -0] },
        webhook_secret: 'whs_1',
      }
      const payment = { store_type: 'custom' as const, store_config: { api_key: 'api_1', x: 1 } }
      await till.stores.create(key, { project_id: id, store_id: 'pay', ...payment })
      const answer = await till.projects.update(key, {
        id,
        name: 'Game',
        config,
        status: 'active',
      })
      await till.purchases.import(session, file())
      const before = await entriesOf(till)

      const again = await till.projects.update(session, { id, config })
      await till.projects.update(session, { id, config: reordered })
      await till.projects.update(session, { id, config: withoutSecret })
      await till.projects.update(session, { id, name: 'Game' })
      await till.projects.update(key, { id })
      await till.items.update(key, { id: shop.item.id, price: '0499', meta: {} })
      await till.items.restore(key, shop.item.id)
      await till.stores.update(key, { store_id: 'pay', store_config: payment.store_config })
      await till.stores.update(key, { store_id: 'pay', store_config: { x: 1 }, status: 'active' })
      await till.purchases.import(session, file('transaction_id,sku,purchased_at\n'))
      await till.purchases.import(session, file())
      await till.purchases.import(session, { ...file(), dryRun: true }, OPTIONS)
      await till.sessions.init(public_key, { user_id: 'ann' })
      await till.projects.get(account, id)

      assert.deepEqual(again, answer)
      assert.deepEqual(await entriesOf(till), before)
      await till.projects.update(session, { id, config: { ...config, webhook_secret: 'whs_2' } })
      await till.stores.update(key, { store_id: 'pay', store_config: { api_key: 'api_2', x: 1 } })
      assert.equal((await entriesOf(till)).length, before.length + 2)
    })
  }

  test('has one entry for each record whose secrets were sealed, at once or by a change', async () => {
    const storage = await openStorage()
    const { till, account, project } = await setUp({ storage })
    const config = { webhook_secret: 'whs_1' }
    await till.projects.update(account, { id: project.id, config })
    const provider = { store_type: 'custom' as const, store_config: { api_key: 'api_1' } }
    await till.stores.create(account, { project_id: project.id, store_id: 'pay', ...provider })
    const sealing = createTill({ storage, masterKeys: [new Uint8Array(32)], now: () => NOW })
    const before = await entriesOf(till)

    // The same secret as before, which is encrypted now.
    await sealing.projects.update(account, { id: project.id, config })
    await sealing.projects.update(account, { id: project.id, config })
    await sealing.operator.sealSecrets(OPTIONS)
    await sealing.operator.sealSecrets(OPTIONS)

    const added = (await entriesOf(till)).slice(before.length)
    assert.deepEqual(
      added.map(({ actor, action, subject, request_id }) => [actor, action, subject, request_id]),
      [
        [`key:${account.key_id}`, 'project.update', project.id, ''],
        ['operator', 'secrets.seal', 'pay', REQUEST_ID],
      ],
    )
    assert.deepEqual([added[1]?.project_id, added[1]?.store_id], [project.id, 'pay'])
  })

  test('contains no key, token or secret', async () => {
    const shop = await setUp()
    const { till, key, project } = shop
    const config = { webhook_secret: 'whs_secret' }
    await till.projects.update(key, { id: project.id, config })
    for (const { make } of Object.values(WRITES)) await make(shop)

    const text = JSON.stringify(await entriesOf(till))

    for (const secret of ['ak_', 'pk_', 'eyJ', 'whs_secret']) assert.ok(!text.includes(secret))
  })

  test('is archived up to an hour ago, and has one entry about it', async (t) => {
    const { till, clock } = await setUp()
    const before = await entriesOf(till)
    const file = join(temporaryFolder(t), 'audit.jsonl')
    const at = formatInstant(NOW + 1)
    const invalid = { code: 'invalid_request' }
    for (const change of [{ before: '' }, { file: '' }, { out: 'x' }, { before: '2030-01-01' }]) {
      const refused = till.operator.archiveAudit({ before: '2024-01-01', file, ...change })
      await assert.rejects(refused, invalid)
    }

    clock.pass(3_600_000)
    const young = till.operator.archiveAudit({ before: at, file })
    await assert.rejects(young, { ...invalid, message: /one hour ago/ })
    assert.deepEqual(await entriesOf(till), before)
    clock.pass(1)
    const archived = await till.operator.archiveAudit({ before: at, file }, OPTIONS)
    const again = await till.operator.archiveAudit({ before: at, file: `${file}.2` }, OPTIONS)

    assert.deepEqual([archived, again], [before.length, 0])
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const entries = lines.map((line) => JSON.parse(line))
    assert.deepEqual(
      entries.map(({ seq: _, ...entry }) => entry),
      before,
    )
    const made = { at: formatInstant(NOW + 3_600_001), account_id: '', request_id: REQUEST_ID }
    const about = { action: 'audit.archive', subject: at, project_id: '', store_id: '' }
    assert.deepEqual(await entriesOf(till), [{ ...made, actor: 'operator', ...about }])
  })
})

const VALUES = "(6, '', '', '', '', '', '', '', '', NULL)"
/** SQL that is refused. Only a pseudonym may replace an actor or a subject. */
const ATTACKS = [
  "UPDATE audit SET actor = 'nobody' WHERE seq = 6",
  'DELETE FROM audit',
  'DELETE FROM audit WHERE seq = 6',
  `REPLACE INTO audit VALUES ${VALUES}`,
  `INSERT OR REPLACE INTO audit VALUES ${VALUES}`,
  `INSERT INTO audit VALUES ${VALUES} ON CONFLICT DO UPDATE SET actor = 'nobody'`,
  'UPDATE OR REPLACE audit SET seq = 6 WHERE seq = 7',
  ...["project_id = 'x'", "store_id = 'x'", "data = '{}'", "actor = 'other'", "subject = 'other'"],
  ...["action = 'item.create'", "at = ''", "account_id = 'x'", 'seq = 99', 'rowid = 99'].map(
    (change) => `subject = 'erased:x', ${change}`,
  ),
].map((sql) => (/^[a-z]/.test(sql) ? `UPDATE audit SET ${sql}` : sql))

for (const { driver, skip } of await sqliteDrivers()) {
  testOnce(`SQL cannot change or delete audit entries, with ${driver}`, { skip }, async (t) => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'till.db')
    const clock = createClock()
    const till = createTill({ storage: await openSqliteStorage(path, { driver }), now: clock.now })
    t.after(() => till.close())
    await createShop(till)
    clock.pass(2 * 3_600_000)
    await createShop(till)
    const archive = { before: formatInstant(NOW + 1), file: join(folder, 'audit.jsonl') }
    assert.equal(await till.operator.archiveAudit(archive), 4)
    const before = await entriesOf(till)
    const db = await openSqliteDriver(path, driver)
    t.after(() => db.close())

    for (const sql of ATTACKS) {
      assert.throws(() => db.exec(sql), /append-only/, sql)
    }

    db.exec("BEGIN; UPDATE audit SET subject = 'prj/erased:x'; ROLLBACK")
    assert.deepEqual(await entriesOf(till), before)
  })
}

/** A shop with a clock, an account key and a session. */
async function setUp(options: Partial<TillOptions> = {}) {
  const clock = createClock()
  const shop = await createShop({ now: clock.now, ...options })
  const { key_id: spare } = await shop.till.accounts.addKey(shop.account)
  const key = await shop.till.accounts.authenticate(shop.account_key)
  return { ...shop, clock, key, spare, session: await shop.till.sessions.authenticate(shop.token) }
}

function entriesOf(till: Till, account_id?: string): Promise<AuditEntry[]> {
  return collect(till.operator.allAudit({ account_id }))
}

test('the activity of an account is listed by record and by day', async () => {
  const { till, account, item } = await createShop()
  await till.items.update(account, { id: item.id, price: '2' })
  const { entries } = await till.accounts.listAudit(account, { subject: item.id })
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['item.update', 'item.create'],
  )
  const [{ at } = assert.fail()] = entries
  const before = await till.accounts.listAudit(account, { subject: item.id, to: at.slice(0, 10) })
  assert.deepEqual(before, { entries: [] })
  const since = await till.accounts.listAudit(account, { from: at.slice(0, 10), limit: 1 })
  assert.deepEqual([since.entries[0]?.action, since.next !== undefined], ['item.update', true])
})
