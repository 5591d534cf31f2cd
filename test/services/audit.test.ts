import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  type AuditEntry,
  createTill,
  formatInstant,
  openSqliteStorage,
  type Till,
  type TillOptions,
} from '../../lib/index.ts'
import { openSqliteDriver, type SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { collect } from '../support/collect.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { describeFiles, type NewPlace, type Place } from '../support/place.ts'
import { createClock, createShop, NOW } from '../support/till.ts'
import {
  file,
  importBy,
  type KeyedShop,
  newGame,
  REQUEST_ID,
  WRITES,
  type Write,
} from './writes.ts'

const OPTIONS = { requestId: REQUEST_ID }
const REQUEST = { request_id: REQUEST_ID }

/** Every call of a session that changes something. */
const sessionWrites: Record<string, Write> = {
  'projects.update': {
    action: 'project.update',
    about: ({ project_id }) => ({ project_id }),
    make: async ({ till, session, project_id: id }) =>
      (await till.projects.update(session, { id, name: 'New' }, OPTIONS)).id,
  },
  'purchases.import': importBy(({ session }) => session),
}

await describeFiles('the audit log', (newPlace) => {
  for (const [name, write] of Object.entries(WRITES)) {
    describeWrite(newPlace, `of an account key: ${name}`, write, ({ key }) => `key:${key.key_id}`)
  }
  for (const [name, write] of Object.entries(sessionWrites)) {
    const actorOf = ({ session }: KeyedShop) => `token:${session.token_id}`
    describeWrite(newPlace, `of a token: ${name}`, write, actorOf)
  }
  describeOperator(newPlace)
  describePages(newPlace)
  describeArchive(newPlace)
})

for (const { driver, skip } of await sqliteDrivers()) {
  test(
    `the audit log refuses updates and deletions of its entries, with ${driver}`,
    { skip },
    (t) => assertAppendOnly(t, driver),
  )
}

function describeWrite(
  newPlace: NewPlace,
  name: string,
  { action, prepare, make, about, fail }: Write,
  actorOf: (shop: KeyedShop) => string,
): void {
  test(`has one entry for a change ${name}, and none when it is refused`, async (t) => {
    const shop = await setUp(newPlace(t))
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
    await shop.till.accounts.revokeKey(shop.account, shop.key.key_id)
    const revoked = await entriesOf(shop.till)
    await assert.rejects(make(shop), /account key|token/)
    assert.deepEqual(await entriesOf(shop.till), revoked)
  })
}

function describeOperator(newPlace: NewPlace): void {
  test('names the operator as actor of a call without a key, and the account that it concerns', async (t) => {
    const till = await newPlace(t).till({ now: () => NOW })
    const { account_id } = await till.accounts.create({ name: 'Studio' }, OPTIONS)
    const account = await till.accounts.get(account_id)
    await till.projects.create(account, newGame(account))

    const entries = await entriesOf(till)

    const actual = entries.map(({ actor, action, request_id }) => [actor, action, request_id])
    assert.deepEqual(actual, [
      ['operator', 'account.create', 'request-1'],
      ['operator', 'project.create', ''],
    ])
    assert.equal(entries[0]?.subject, account_id)
    assert.deepEqual(await entriesOf(till, account_id), entries)
  })

  test('has one entry for each project and store whose secrets were sealed', async (t) => {
    const place = newPlace(t)
    const { till, account, project } = await setUp(place)
    const config = { webhook_secret: 'whs_1' }
    await till.projects.update(account, { id: project.id, config })
    const provider = { store_type: 'custom' as const, store_config: { api_key: 'api_1' } }
    await till.stores.create(account, { project_id: project.id, store_id: 'pay', ...provider })
    const sealing = await place.till({ masterKeys: [new Uint8Array(32)] })
    const before = await entriesOf(till)

    await sealing.operations.sealSecrets(OPTIONS)
    await sealing.operations.sealSecrets(OPTIONS)

    const { account_id } = account
    const made = { at: formatInstant(NOW), account_id, ...REQUEST }
    const entry = { ...made, actor: 'operator', action: 'secrets.seal' }
    assert.deepEqual((await entriesOf(till)).slice(before.length), [
      { ...entry, subject: project.id, project_id: project.id, store_id: '' },
      { ...entry, subject: 'pay', project_id: project.id, store_id: 'pay' },
    ])
  })

  test('has no entry for a dry run, a new session or a read', async (t) => {
    const { till, account, session, project } = await setUp(newPlace(t))
    const before = await entriesOf(till)

    await till.purchases.import(session, { ...file(), dryRun: true }, OPTIONS)
    await till.sessions.init(project.public_key, { user_id: 'ann' })
    await till.projects.get(account, project.id)

    assert.deepEqual(await entriesOf(till), before)
  })

  for (const [keys, masterKeys] of Object.entries({ none: [], one: [new Uint8Array(32)] })) {
    test(`has no entry for an update that changes nothing, with ${keys} as master key`, async (t) => {
      const shop = await setUp(newPlace(t), { masterKeys })
      const { till, key, session, project } = shop
      const { id } = project
      const config = { webhook_secret: 'whs_1', custom_settings: { a: [1, 0], b: { c: null } } }
      const { webhook_secret: _, ...withoutSecret } = config
      const reordered = { custom_settings: { b: { c: null }, a: [1, -0] }, webhook_secret: 'whs_1' }
      const payment = { store_type: 'custom' as const, store_config: { api_key: 'api_1', x: 1 } }
      await till.stores.create(key, { project_id: id, store_id: 'pay', ...payment })
      const answer = await till.projects.update(key, { id, name: 'Game', config, status: 'active' })
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

      assert.deepEqual(again, answer)
      assert.deepEqual(await entriesOf(till), before)
      await till.projects.update(session, { id, config: { ...config, webhook_secret: 'whs_2' } })
      await till.stores.update(key, { store_id: 'pay', store_config: { api_key: 'api_2', x: 1 } })
      assert.equal((await entriesOf(till)).length, before.length + 2)
    })
  }

  test('has one entry when a secret stored in clear is sent again and sealed', async (t) => {
    const place = newPlace(t)
    const { till, account, project } = await setUp(place)
    const change = { id: project.id, config: { webhook_secret: 'whs_1' } }
    await till.projects.update(account, change)
    const sealing = await place.till({ masterKeys: [new Uint8Array(32)] })
    const before = await entriesOf(till)

    await sealing.projects.update(account, change)
    await sealing.projects.update(account, change)

    assert.equal((await entriesOf(till)).length, before.length + 1)
  })

  test('contains no key, token or secret', async (t) => {
    const shop = await setUp(newPlace(t))
    const { till, key, project } = shop
    const config = { webhook_secret: 'whs_secret' }
    await till.projects.update(key, { id: project.id, config })
    for (const { make } of Object.values(WRITES)) await make(shop)

    const text = JSON.stringify(await entriesOf(till))

    for (const secret of ['ak_', 'pk_', 'eyJ', 'whs_secret']) {
      assert.equal(text.includes(secret), false, secret)
    }
  })
}

function describePages(newPlace: NewPlace): void {
  test('is listed in order and in pages, for one account or all', async (t) => {
    const { till, account } = await setUp(newPlace(t))
    const other = await till.accounts.create({ name: 'Other' })
    for (let n = 0; n < 5; n++) {
      await till.accounts.addKey(account)
      await till.accounts.addKey(other)
    }
    const all = await entriesOf(till)
    assert.equal(all.length, 5 + 1 + 10)

    for (const account_id of [undefined, account.account_id, other.account_id]) {
      const expected = all.filter((each) => !account_id || each.account_id === account_id)
      for (const limit of [1, 2, 7, expected.length, 1000]) {
        const read = await pagesOf(till, { account_id, limit })
        assert.deepEqual(read, expected)
      }
      assert.deepEqual(await entriesOf(till, account_id), expected)
    }
    assert.deepEqual(await entriesOf(till, 'acc_nobody'), [])
  })

  test('refuses an invalid page', async (t) => {
    const { till } = await setUp(newPlace(t))
    for (const query of [{ limit: 0 }, { limit: 1001 }, { cursor: 'x' }, { account_id: '' }]) {
      await assert.rejects(till.operations.listAudit(query), { code: 'invalid_request' })
    }
  })
}

function describeArchive(newPlace: NewPlace): void {
  test('archives entries older than an hour, and has one entry about it', async (t) => {
    const { till, clock } = await setUp(newPlace(t))
    const before = await entriesOf(till)
    const file = join(temporaryFolder(t), 'audit.jsonl')
    const at = formatInstant(NOW + 1)

    for (const time of [at, '2030-01-01']) {
      const refused = till.operations.archiveAudit({ before: time, file })
      await assert.rejects(refused, { code: 'invalid_request', message: /one hour ago/ })
    }
    clock.pass(3_600_000)
    const young = till.operations.archiveAudit({ before: at, file })
    await assert.rejects(young, { code: 'invalid_request' })
    assert.deepEqual(await entriesOf(till), before)
    clock.pass(1)
    const archived = await till.operations.archiveAudit({ before: at, file }, OPTIONS)
    const again = await till.operations.archiveAudit({ before: at, file }, OPTIONS)

    assert.deepEqual([archived, again], [before.length, 0])
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const entries = lines.map((line) => JSON.parse(line))
    assert.deepEqual(
      entries.map(({ seq: _, ...entry }) => entry),
      before,
    )
    const made = { at: formatInstant(NOW + 3_600_001), account_id: '', ...REQUEST }
    const about = { action: 'audit.archive', subject: at, project_id: '', store_id: '' }
    const entry = { ...made, actor: 'operator', ...about }
    assert.deepEqual(await entriesOf(till), [entry])
  })

  test('refuses an invalid archive request', async (t) => {
    const { till } = await setUp(newPlace(t))
    const good = { before: '2024-01-01', file: join(temporaryFolder(t), 'audit.jsonl') }
    for (const change of [{ before: 'now' }, { before: '' }, { file: '' }, { out: 'x' }]) {
      const refused = till.operations.archiveAudit({ ...good, ...change })
      await assert.rejects(refused, { code: 'invalid_request' })
    }
  })
}

async function assertAppendOnly(t: TestContext, driver: SqliteDriverName): Promise<void> {
  const folder = temporaryFolder(t)
  const path = join(folder, 'till.db')
  const clock = createClock()
  const till = createTill({ storage: await openSqliteStorage(path, { driver }), now: clock.now })
  await createShop(till)
  clock.pass(2 * 3_600_000)
  await createShop(till)
  const archive = { before: formatInstant(NOW + 1), file: join(folder, 'audit.jsonl') }
  assert.equal(await till.operations.archiveAudit(archive), 4)
  const before = await entriesOf(till)
  const db = await openSqliteDriver(path, driver)
  const values = "(6, '', '', '', '', '', '', '', '', NULL)"
  const attacks = [
    "UPDATE audit SET actor = 'nobody'",
    "UPDATE audit SET actor = 'nobody' WHERE seq = 6",
    'UPDATE audit SET seq = seq + 100',
    'DELETE FROM audit',
    'DELETE FROM audit WHERE seq = 6',
    `REPLACE INTO audit VALUES ${values}`,
    `INSERT OR REPLACE INTO audit VALUES ${values}`,
    `INSERT INTO audit VALUES ${values} ON CONFLICT DO UPDATE SET actor = 'nobody'`,
    'UPDATE OR REPLACE audit SET seq = 6 WHERE seq = 7',
    ...["project_id = 'x'", "store_id = 'x'", "data = '{}'"].map(
      (change) =>
        `BEGIN; INSERT INTO audit_pseudonym VALUES ('erased:x'); UPDATE audit SET ${change}`,
    ),
  ]

  for (const sql of attacks) {
    assert.throws(() => db.exec(sql), /append-only/, sql)
    if (sql.startsWith('BEGIN')) db.exec('ROLLBACK')
  }

  assert.deepEqual(await entriesOf(till), before)
  db.close()
  await till.close()
}

/** A shop, an account key and a session. */
async function setUp(place: Place, options: Partial<TillOptions> = {}) {
  const shop = await place.shop(options)
  const { key_id: spare } = await shop.till.accounts.addKey(shop.account)
  const key = await shop.till.accounts.authenticate(shop.account_key)
  return { ...shop, key, spare, session: await shop.till.sessions.authenticate(shop.token) }
}

function entriesOf(till: Till, account_id?: string): Promise<AuditEntry[]> {
  return collect(till.operations.allAudit({ account_id }))
}

async function pagesOf(till: Till, query: object): Promise<AuditEntry[]> {
  const read: AuditEntry[] = []
  let cursor: string | undefined
  do {
    const page = await till.operations.listAudit({ ...query, cursor })
    read.push(...page.entries)
    cursor = page.next
  } while (cursor !== undefined)
  return read
}
