import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { decodeJwt } from 'jose'
import {
  type AuditEntry,
  createTill,
  formatInstant,
  openSqliteStorage,
  type Session,
  type Till,
  type TillOptions,
} from '../../lib/index.ts'
import type { KeyedAccount } from '../../lib/storage/port.ts'
import { pseudonymOf } from '../../lib/storage/pseudonym.ts'
import { openSqliteDriver, type SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { collect } from '../support/collect.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { describeFiles, type Place } from '../support/place.ts'
import { createClock, createShop, fileOf, NOW } from '../support/till.ts'

const FILE = 'transaction_id,sku,purchased_at\nT-1,gold,2024-03-01T12:34:56Z\n'
const BAD_FILE = 'transaction_id,sku,purchased_at\nT-1,silver,2024-03-01T12:34:56Z\n'
const ITEM = { store_id: 'main', display_name: 'Silver', price: '99', type: 'consumable' as const }
const OPTIONS = { requestId: 'request-1' }
const REQUEST = { request_id: OPTIONS.requestId }

const ofProject = ({ project }: Shop) => ({ project_id: project.id })
const ofStore = (shop: Shop) => ({ ...ofProject(shop), store_id: 'main' })
const IMPORTED = { rows: 1, added: 1, skipped: 0, updated: 0, passed_over: 0 }

type NewPlace = (t: TestContext) => Place

/** A mutating call, and the audit entry it leaves. */
interface Change {
  readonly action: string
  prepare?(shop: Shop): Promise<unknown>
  /** Makes the change. Resolves to the subject that the entry should have. */
  make(shop: Shop): Promise<string>
  /** The expected optional fields of the entry. */
  about?(shop: Shop, subject: string): Partial<AuditEntry>
  /** The same call with an error in it. */
  fail(shop: Shop): Promise<unknown>
}

/** Every call of an account that changes something, with its audit entry. */
const accountChanges: Record<string, Change> = {
  'accounts.addKey': {
    action: 'account_key.add',
    make: async ({ till, key }) => (await till.accounts.addKey(key, OPTIONS)).key_id,
    fail: ({ till, session }) => till.accounts.addKey(session as never, OPTIONS),
  },
  'projects.create': {
    action: 'project.create',
    about: (_shop, subject) => ({ project_id: subject }),
    make: async ({ till, key }) => (await till.projects.create(key, gameOf(key), OPTIONS)).id,
    fail: ({ till, key }) => till.projects.create(key, { ...gameOf(key), name: '' }, OPTIONS),
  },
  'projects.update': {
    action: 'project.update',
    about: ofProject,
    make: async ({ till, key, project: { id } }) =>
      (await till.projects.update(key, { id, name: 'New' }, OPTIONS)).id,
    fail: ({ till, key }) => till.projects.update(key, { id: 'prj_nobody', name: 'New' }, OPTIONS),
  },
  'projects.rotateKey': {
    action: 'project.rotate_key',
    about: ofProject,
    make: async ({ till, key, project: { id } }) =>
      (await till.projects.rotateKey(key, { id }, OPTIONS)).id,
    fail: ({ till, key }) => till.projects.rotateKey(key, { id: 'prj_nobody' }, OPTIONS),
  },
  'stores.create': {
    action: 'store.create',
    about: (shop, subject) => ({ ...ofProject(shop), store_id: subject }),
    make: async ({ till, key, project }) =>
      (await till.stores.create(key, { project_id: project.id, store_type: 'web' }, OPTIONS))
        .store_id,
    fail: ({ till, key, project: { id: project_id } }) =>
      till.stores.create(key, { project_id, store_type: 'web', store_id: 'main' }, OPTIONS),
  },
  'items.create': {
    action: 'item.create',
    about: ofStore,
    make: async ({ till, key }) =>
      (await till.items.create(key, { ...ITEM, name: 'silver' }, OPTIONS)).id,
    fail: ({ till, key }) => till.items.create(key, { ...ITEM, name: 'gold' }, OPTIONS),
  },
  'items.update': {
    action: 'item.update',
    make: async ({ till, key, item: { id } }) =>
      (await till.items.update(key, { id, price: '599', meta: { rare: true } }, OPTIONS)).id,
    fail: ({ till, key, item: { id } }) =>
      till.items.update(key, { id, price: '699', version: 2 }, OPTIONS),
    about: (shop) => {
      const price = { old: 499, new: 599 }
      const data = { name: 'gold', version: 2, changed: ['price', 'metadata'], price }
      return { ...ofStore(shop), data }
    },
  },
  'items.archive': {
    action: 'item.archive',
    make: async ({ till, key, item }) => (await till.items.archive(key, item.id, OPTIONS)).id,
    fail: ({ till, key }) => till.items.archive(key, 'itm_nobody', OPTIONS),
    about: (shop) => ({ ...ofStore(shop), data: { name: 'gold', version: 2 } }),
  },
  'items.restore': {
    action: 'item.restore',
    prepare: ({ till, key, item }) => till.items.archive(key, item.id),
    make: async ({ till, key, item }) => (await till.items.restore(key, item.id, OPTIONS)).id,
    fail: ({ till, key }) => till.items.restore(key, 'itm_nobody', OPTIONS),
    about: (shop) => ({ ...ofStore(shop), data: { name: 'gold', version: 3 } }),
  },
  'purchases.import': {
    action: 'purchases.import',
    about: (shop) => ({ ...ofStore(shop), data: IMPORTED }),
    make: async ({ till, key }) =>
      (await till.purchases.import(key, file(FILE), OPTIONS)).import_id,
    fail: ({ till, key }) => till.purchases.import(key, file(BAD_FILE), OPTIONS),
  },
  'sessions.issue': {
    action: 'tokens.issue',
    about: ofProject,
    async make({ till, key, project }) {
      const issued = await till.sessions.issue(key, { project_id: project.id }, OPTIONS)
      return decodeJwt(issued.token).jti as string
    },
    fail: ({ till, key }) => till.sessions.issue(key, { project_id: 'prj_nobody' }, OPTIONS),
  },
  'sessions.revoke of a project': {
    action: 'tokens.revoke',
    about: ofProject,
    async make({ till, key, project: { id: project_id } }) {
      await till.sessions.revoke(key, { project_id }, OPTIONS)
      return project_id
    },
    fail: ({ till, key }) => till.sessions.revoke(key, { project_id: 'prj_nobody' }, OPTIONS),
  },
  'sessions.revoke of a user': {
    action: 'tokens.revoke',
    about: ofProject,
    async make({ till, key, project: { id: project_id } }) {
      await till.sessions.revoke(key, { project_id, user_id: 'ann' }, OPTIONS)
      return `${project_id}/ann`
    },
    fail: ({ till, key, project: { id: project_id } }) =>
      till.sessions.revoke(key, { project_id, user_id: '' }, OPTIONS),
  },
  'users.export': {
    action: 'users.export',
    about: ofProject,
    async make({ till, key, project: { id: project_id } }) {
      await collect(till.users.export(key, { project_id, user_id: 'ann' }, OPTIONS))
      return `${project_id}/${pseudonymOf({ project_id, user_id: 'ann' })}`
    },
    fail: ({ till, key }) =>
      collect(till.users.export(key, { project_id: 'prj_nobody', user_id: 'ann' }, OPTIONS)),
  },
  'users.erase': {
    action: 'users.erase',
    about: (shop) => ({ ...ofProject(shop), data: { delete: true } }),
    async make({ till, key, project: { id: project_id } }) {
      const options = { ...OPTIONS, delete: true }
      const { pseudonym } = await till.users.erase(key, { project_id, user_id: 'ann' }, options)
      return `${project_id}/${pseudonym}`
    },
    fail: ({ till, key }) =>
      till.users.erase(key, { project_id: 'prj_nobody', user_id: 'ann' }, OPTIONS),
  },
  // Must be the last one: the key cannot make a change after it.
  'accounts.revokeKey': {
    action: 'account_key.revoke',
    async make({ till, key }) {
      await till.accounts.revokeKey(key, key.key_id, OPTIONS)
      return key.key_id
    },
    fail: ({ till, key }) => till.accounts.revokeKey(key, 'key_nobody', OPTIONS),
  },
}

/** Every call of a session that changes something, with its audit entry. */
const sessionChanges: Record<string, Change> = {
  'projects.update': {
    action: 'project.update',
    about: ofProject,
    make: async ({ till, session, project: { id } }) =>
      (await till.projects.update(session, { id, name: 'New' }, OPTIONS)).id,
    fail: ({ till, session }) =>
      till.projects.update(session, { id: 'prj_nobody', name: 'New' }, OPTIONS),
  },
  'purchases.import': {
    action: 'purchases.import',
    about: (shop) => ({ ...ofStore(shop), data: IMPORTED }),
    make: async ({ till, session }) =>
      (await till.purchases.import(session, file(FILE), OPTIONS)).import_id,
    fail: ({ till, session }) => till.purchases.import(session, file(BAD_FILE), OPTIONS),
  },
}

await describeFiles('the audit log', (newPlace) => {
  for (const [name, change] of Object.entries(accountChanges)) {
    describeChange(newPlace, `of an account key: ${name}`, change, ({ key }) => `key:${key.key_id}`)
  }
  for (const [name, change] of Object.entries(sessionChanges)) {
    const actorOf = ({ session }: Shop) => `token:${session.token_id}`
    describeChange(newPlace, `of a token: ${name}`, change, actorOf)
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

function describeChange(
  newPlace: NewPlace,
  name: string,
  { action, prepare, make, about, fail }: Change,
  actorOf: (shop: Shop) => string,
): void {
  test(`has one entry for a change ${name}`, async (t) => {
    const shop = await setUp(newPlace(t))
    await prepare?.(shop)
    const before = await entriesOf(shop.till)
    shop.clock.pass(1000)

    const subject = await make(shop)

    const entry = {
      at: '2024-03-01T12:34:57.789Z',
      actor: actorOf(shop),
      action,
      subject,
      account_id: shop.account.account_id,
      project_id: '',
      store_id: '',
      request_id: 'request-1',
      ...about?.(shop, subject),
    }
    assert.deepEqual(await entriesOf(shop.till), [...before, entry])
  })

  test(`has no entry for a refused change ${name}`, async (t) => {
    const shop = await setUp(newPlace(t))
    const before = await entriesOf(shop.till)

    await assert.rejects(fail(shop))

    assert.deepEqual(await entriesOf(shop.till), before)
  })
}

function describeOperator(newPlace: NewPlace): void {
  test('names the operator as actor of a call without a key, and the account that it concerns', async (t) => {
    const till = await newPlace(t).till({ now: () => NOW })
    const { account_id } = await till.accounts.create({ name: 'Studio' }, OPTIONS)
    const account = await till.accounts.get(account_id)
    await till.projects.create(account, gameOf(account))

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

    await till.purchases.import(session, { ...file(FILE), dryRun: true }, OPTIONS)
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

      assert.deepEqual(again, answer)
      assert.deepEqual(await entriesOf(till), before)
      await till.projects.update(session, { id, config: { ...config, webhook_secret: 'whs_2' } })
      await till.stores.update(key, { store_id: 'pay', store_config: { api_key: 'api_2', x: 1 } })
      assert.equal((await entriesOf(till)).length, before.length + 2)
    })
  }

  test('has no entry for an import that only repeats stored rows', async (t) => {
    const { till, session } = await setUp(newPlace(t))
    await till.purchases.import(session, file(FILE))
    const before = await entriesOf(till)

    const { skipped } = await till.purchases.import(session, file(FILE))

    assert.equal(skipped, 1)
    assert.deepEqual(await entriesOf(till), before)
  })

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
    for (const { make } of Object.values(accountChanges)) await make(shop)

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
    assert.equal(all.length, 4 + 1 + 10)

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

type Shop = Awaited<ReturnType<typeof setUp>>

/** A shop, an account key and a session. */
async function setUp(place: Place, options: Partial<TillOptions> = {}) {
  const shop = await place.shop(options)
  const key: KeyedAccount = await shop.till.accounts.authenticate(shop.account_key)
  const session: Session = await shop.till.sessions.authenticate(shop.token)
  return { ...shop, key, session }
}

function gameOf({ account_id }: { readonly account_id: string }) {
  return { account_id, name: 'Second', bundle_id: 'com.example.second', platform: 'web' }
}

function file(csv: string) {
  return { store_id: 'main', file: fileOf(csv) }
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
