import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  createMemoryStorage,
  createTill,
  type JsonObject,
  openSqliteStorage,
  type Project,
  type StoreType,
  type Till,
} from '../../lib/index.ts'
import { createSealer, type Sealed, sealSecrets } from '../../lib/services/secrets.ts'
import type { Storage } from '../../lib/storage/port.ts'
import { all, collect } from '../support/collect.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { describeFiles, type NewPlace, type Place } from '../support/place.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createShop } from '../support/till.ts'

const OLD = new Uint8Array(32).fill(1)
const NEW = new Uint8Array(32).fill(2)
const STRANGE = new Uint8Array(32).fill(3)
const SECRETS = ['whs_of_project', 'shared_of_iap', 'whs_of_iap', 'api_of_custom', 'whs_of_web']

/** The result of sealing without idempotency records. */
function sealedOf(sealed: number, unreadable: number) {
  return { sealed, unreadable, idempotency_records: 0 }
}

describe('a sealer', () => {
  test('opens its sealed texts, which differ each time', () => {
    const sealer = createSealer([OLD])
    for (const text of ['?', 'sécret \u{1F600}', 'x'.repeat(8192)]) {
      const [first, second] = [sealer.seal(text, 'here'), sealer.seal(text, 'here')]
      assert.notDeepEqual(first, second)
      assert.equal(JSON.stringify(first).includes(text), false)
      assert.equal(sealer.open(first, 'here'), text)
      assert.equal(sealer.open(second, 'here'), text)
    }
  })

  test('opens nothing in another field, under another key, or with a changed bit', () => {
    const sealer = createSealer([OLD])
    const sealed = sealer.seal('secret', 'here') as Sealed
    const bytes = Buffer.from(sealed.sealed, 'base64url')

    // Its errors contain neither the text nor the key.
    const hidden = ['hex', 'base64'].map((each) => Buffer.from(OLD).toString(each as 'hex'))
    const isSafe = ({ message }: Error) =>
      ![...hidden, 'secret ', sealed.sealed].some((each) => `${message} `.includes(each))
    assert.throws(() => sealer.open(sealed, 'there'), isSafe)
    assert.throws(() => createSealer([NEW]).open(sealed, 'here'), isSafe)
    assert.throws(() => createSealer([NEW]).open(sealed, 'here'), /is not set/)
    assert.throws(() => createSealer([]).open(sealed, 'here'), /is not set/)
    const { key } = createSealer([NEW]).seal('secret', 'here') as Sealed
    assert.throws(() => createSealer([NEW]).open({ ...sealed, key }, 'here'))
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ 1
      const text = changed.toString('base64url')
      assert.throws(() => sealer.open({ ...sealed, sealed: text }, 'here'))
    }
    for (let length = 0; length < bytes.length; length++) {
      const text = bytes.subarray(0, length).toString('base64url')
      assert.throws(() => sealer.open({ ...sealed, sealed: text }, 'here'))
    }
  })

  test('without a master key does not change texts', () => {
    const sealer = createSealer([])
    assert.equal(sealer.seal('secret', 'here'), 'secret')
    assert.equal(sealer.open('secret', 'here'), 'secret')
    assert.equal(sealer.renew('secret', 'here'), 'secret')
  })

  test('accepts only master keys of 32 bytes', () => {
    const storage = createMemoryStorage()
    for (const length of [0, 16, 31, 33, 64]) {
      const masterKeys = [OLD, new Uint8Array(length)]
      assert.throws(() => createTill({ storage, masterKeys }), TypeError)
    }
  })

  test('reseals with the newest key, and leaves texts that it cannot open', () => {
    const sealer = createSealer([NEW, OLD])
    const old = createSealer([OLD]).seal('secret', 'here') as Sealed
    const strange = createSealer([STRANGE]).seal('secret', 'here') as Sealed

    const renewed = sealer.renew(old, 'here')

    assert.equal(createSealer([NEW]).open(renewed, 'here'), 'secret')
    assert.equal(sealer.renew(renewed, 'here'), renewed)
    assert.equal(sealer.renew(strange, 'here'), strange)
    assert.equal(sealer.renew(old, 'there'), old)
  })
})

await describeFiles('secrets', describeSecrets)
await describeFiles('a database file', describeFile)
await describeFiles('the check value of the master key', (newPlace) =>
  describeKeyCheck(async (t) => {
    const place = newPlace(t)
    return (masterKeys) => place.till({ masterKeys })
  }),
)
describe('the check value of the master key, on PostgreSQL', async () => {
  const server = await startPostgres()
  describeKeyCheck(async (t) => {
    const url = await server.emptySchema(t)
    return async (masterKeys) => createTill({ storage: await openPostgres(t, url), masterKeys })
  })

  test('a write without the key waits for the first write of the check value', async (t) => {
    const url = await server.emptySchema(t)
    const till = createTill({ storage: await openPostgres(t, url) })
    const { account, project } = await createShop(till)
    const [value] = createSealer([OLD]).checkValues
    const sql = rawPostgres(t, url)
    const config = { webhook_secret: 'plain' }

    let update: Promise<unknown> | undefined
    await sql.begin(async (first) => {
      await first`INSERT INTO key_check VALUES (1, ${value as string})`
      update = till.projects.update(account, { id: project.id, config })
      update.catch(() => {}) // is rejected before it is awaited
      await eventuallyHolds(async () => {
        const waiting = await sql`SELECT 1 FROM pg_locks WHERE NOT granted`
        assert.equal(waiting.length, 1)
      })
    })

    await assert.rejects(update as Promise<unknown>, { code: 'master_key_mismatch' })
  })
})

function describeSecrets(newPlace: NewPlace): void {
  test('are returned only in the answer to the call that sets them, sealed or not', async (t) => {
    const place = newPlace(t)
    for (const masterKeys of [[], [OLD]]) {
      const till = await place.till({ masterKeys })
      const shop = await createSecrets(till)
      assert.equal(shop.project.config.webhook_secret, 'whs_of_project')
      assert.equal(shop.iap.store_config.shared_secret, 'shared_of_iap')

      const shown = JSON.stringify([
        await till.projects.get(shop.account, shop.project.id),
        await collect(till.projects.all(shop.account)),
        await till.projects.authenticate(shop.project.public_key),
        await collect(till.stores.all(shop.account, { project_id: shop.project.id })),
        await till.stores.get(shop.account, 'iap'),
        await till.sessions.init(shop.project.public_key, { user_id: 'ann' }),
        await till.projects.rotateKey(shop.account, { id: shop.project.id }),
        await till.projects.update(shop.account, { id: shop.project.id, name: 'New' }),
      ])
      for (const secret of [...SECRETS, 'sealed']) assert.equal(shown.includes(secret), false)
    }
  })
}

function describeFile(newPlace: NewPlace): void {
  test('contains no secret in clear under a master key, and neither does its WAL', async (t) => {
    const place = newPlace(t)
    const till = await place.till({ masterKeys: [OLD] })
    const { account, project } = await createSecrets(till)
    const config = { webhook_secret: 'whs_changed' }
    await till.projects.update(account, { id: project.id, config })
    await till.projects.update(account, { id: project.id, config: { other: 1 } })

    assertAbsent(place, [...SECRETS, 'whs_changed'])
    await till.close()
    assertAbsent(place, [...SECRETS, 'whs_changed'])
  })

  test('contains no earlier clear text once its secrets are sealed', async (t) => {
    const place = newPlace(t)
    const clear = await place.till()
    const { account, project } = await createSecrets(clear)
    // Large enough for its own pages, which SQLite frees when the secret is removed.
    const config = { webhook_secret: 'whs_removed', filling: 'x'.repeat(60_000) }
    await clear.projects.update(account, { id: project.id, config })
    await clear.projects.update(account, { id: project.id, config: { webhook_secret: null } })
    assert.ok(SECRETS.every((secret) => place.bytes().includes(secret)))
    assert.ok(place.bytes().includes('whs_removed'))

    const till = await place.till({ masterKeys: [OLD] })
    assert.deepEqual(await till.operations.sealSecrets(), sealedOf(3, 0))

    assertAbsent(place, [...SECRETS, 'whs_removed'])
    assert.deepEqual(await clear.operations.check(), [])
    assert.equal((await clear.projects.get(account, project.id)).id, project.id)
  })

  test('is resealed with the newest master key, at once or when its record changes', async (t) => {
    const place = newPlace(t)
    const old = await place.till({ masterKeys: [OLD] })
    const { account, project } = await createSecrets(old)
    const both = await place.till({ masterKeys: [NEW, OLD] })
    const storage = await storageOf(t, place)
    const opener = createSealer([NEW])

    await both.projects.update(account, { id: project.id, config: { other: 1 } })
    const secret = (await storage.findProject(project.id))?.config.webhook_secret
    assert.equal(opener.open(secret as Sealed, `${project.id}/webhook_secret`), 'whs_of_project')
    assert.deepEqual(await both.operations.sealSecrets(), sealedOf(3, 0))
    assert.deepEqual(await both.operations.sealSecrets(), sealedOf(0, 0))

    const store = await storage.findStore(account.account_id, 'iap')
    const iap = `${account.account_id}/iap`
    const { shared_secret, webhook_secret } = store?.store_config ?? {}
    assert.equal(opener.open(shared_secret as Sealed, `${iap}/shared_secret`), 'shared_of_iap')
    assert.equal(opener.open(webhook_secret as Sealed, `${iap}/webhook_secret`), 'whs_of_iap')
  })

  test('keeps and counts secrets that no master key opens, and serves all else', async (t) => {
    const place = newPlace(t)
    const { account, project } = await createSecrets(await place.till({ masterKeys: [STRANGE] }))
    const { id } = project

    const till = await place.till({ masterKeys: [NEW] })

    assert.deepEqual(await till.operations.sealSecrets(), sealedOf(0, 5))
    assert.deepEqual((await till.projects.update(account, { id, config: { a: 1 } })).config, {
      a: 1,
    })
    await till.sessions.init(project.public_key, { user_id: 'ann' })
    const back = await place.till({ masterKeys: [NEW, STRANGE] })
    assert.deepEqual(await back.operations.sealSecrets(), sealedOf(4, 0))
    const removed = await place.till({ masterKeys: [NEW] })
    assert.deepEqual(await removed.operations.sealSecrets(), sealedOf(0, 0))
  })

  test('are listed and dropped when no master key opens them, and can be set again', async (t) => {
    const place = newPlace(t)
    const strange = await place.till({ masterKeys: [STRANGE] })
    const { account, project } = await createSecrets(strange)
    const { account_id } = account
    const { id: project_id } = project
    const store_config = { webhook_secret: 'whs_kept', currency: 'USD' }
    const custom = { provider: 'p', api_key: 'api_lost' }
    const till = await place.till({ masterKeys: [NEW] })
    const both = await place.till({ masterKeys: [NEW, STRANGE] })
    const web = { project_id, store_type: 'web' as const, store_id: 'readable' }
    await both.stores.create(account, { ...web, store_config })
    await strange.stores.create(account, {
      ...{ project_id, store_type: 'custom', store_id: 'both' },
      store_config: custom,
    })
    const lost = [
      { account_id, project_id, field: 'webhook_secret' },
      { account_id, project_id, store_id: 'iap', field: 'webhook_secret' },
      { account_id, project_id, store_id: 'iap', field: 'shared_secret' },
      { account_id, project_id, store_id: 'custom', field: 'api_key' },
      { account_id, project_id, store_id: 'web', field: 'webhook_secret' },
      { account_id, project_id, store_id: 'both', field: 'api_key' },
    ]

    assert.deepEqual(await till.operations.listUnreadableSecrets(), lost)
    assert.deepEqual(await both.operations.listUnreadableSecrets(), [])
    const keyless = await place.till()
    await assert.rejects(keyless.operations.listUnreadableSecrets(), TypeError)
    await assert.rejects(keyless.operations.dropUnreadableSecrets(), TypeError)
    assert.deepEqual(await both.operations.dropUnreadableSecrets(), [])
    assert.deepEqual(await till.operations.dropUnreadableSecrets({ requestId: 'r-1' }), lost)

    await till.operations.assertSecretsOpen()
    assert.deepEqual(await till.operations.listUnreadableSecrets(), [])
    const storage = await storageOf(t, place)
    const kept = await storage.findStore(account_id, 'readable')
    const secret = kept?.store_config.webhook_secret as Sealed
    const where = `${account_id}/readable/webhook_secret`
    assert.equal(createSealer([NEW]).open(secret, where), 'whs_kept')
    assert.equal(kept?.store_config.currency, 'USD')
    assert.deepEqual((await storage.findStore(account_id, 'both'))?.store_config, { provider: 'p' })
    const { entries } = await till.operations.listAudit({ account_id })
    const dropEntries = entries.filter(({ action }) => action === 'secrets.drop')
    assert.deepEqual(
      dropEntries.map(({ actor, subject, request_id }) => [actor, subject, request_id]),
      [project_id, 'iap', 'custom', 'web', 'both'].map((each) => ['operator', each, 'r-1']),
    )
    const config = { webhook_secret: 'whs_new' }
    const again = await till.projects.update(account, { id: project_id, config })
    assert.deepEqual(again.config, config)
  })

  test('are checked to open', async (t) => {
    const place = newPlace(t)
    const till = await place.till({ masterKeys: [OLD] })
    await till.operations.assertSecretsOpen()
    await createSecrets(till)
    await (await place.till({ masterKeys: [NEW, OLD] })).operations.assertSecretsOpen()

    for (const masterKeys of [[NEW], []]) {
      const other = await place.till({ masterKeys })
      await assert.rejects(other.operations.assertSecretsOpen(), { code: 'master_key_mismatch' })
    }
  })

  test('does not open a secret that was moved to another record or field', async (t) => {
    const place = newPlace(t)
    const till = await place.till({ masterKeys: [OLD] })
    const { account, project } = await createSecrets(till)
    const other = await createSecrets(till)
    const storage = await storageOf(t, place)
    const stolen = (await storage.findProject(project.id))?.config ?? {}
    await storage.updateProject(other.project.id, (current) => ({ ...current, config: stolen }))
    await storage.updateStore({ account_id: account.account_id, store_id: 'iap' }, (current) => {
      const { shared_secret: webhook_secret, webhook_secret: shared_secret } = current.store_config
      return { ...current, store_config: { webhook_secret, shared_secret } }
    })

    assert.deepEqual(await till.operations.sealSecrets(), sealedOf(0, 3))
  })

  test('keeps a value under the name of a secret that the store type does not have', async (t) => {
    const place = newPlace(t)
    const till = await place.till({ masterKeys: [OLD] })
    const { account, project } = await createShop(till)
    const sealedLike = { key: 'kept', sealed: 'kept' }
    const store_config = { api_key: sealedLike, shared_secret: 7 }
    const web = { project_id: project.id, store_type: 'web' as const, store_id: 'odd' }
    const made = await till.stores.create(account, { ...web, store_config })
    assert.deepEqual(made.store_config, store_config)

    await till.operations.sealSecrets()

    const storage = await storageOf(t, place)
    const kept = await storage.findStore(account.account_id, 'odd')
    assert.deepEqual(kept?.store_config, store_config)
    assert.deepEqual((await till.stores.get(account, 'odd')).store_config, {})
  })

  test('without a master key seals nothing, and keeps sealed secrets', async (t) => {
    const place = newPlace(t)
    const till = await place.till()
    await createSecrets(till)
    const { project } = await createSecrets(await place.till({ masterKeys: [OLD] }))

    assert.deepEqual(await till.operations.sealSecrets(), sealedOf(0, 5))
    const storage = await storageOf(t, place)
    const kept = await storage.findProject(project.id)
    assert.ok(kept)
    assert.equal(sealSecrets(kept, createSealer([OLD])), kept)
    const [store] = await all((page) => storage.listStores(project.id, page))
    assert.ok(store)
    assert.equal(sealSecrets(store, createSealer([OLD])), store)
  })
}

/** `open` opens a till with these keys on the database of the test. */
function describeKeyCheck(start: (t: TestContext) => Promise<OpenTill>): void {
  const config = { webhook_secret: 'whs_first' }
  const MISMATCH = { code: 'master_key_mismatch', message: /TILLKIT_MASTER_KEY/ }

  test('the first secret is refused without the master key that a server has', async (t) => {
    const open = await start(t)
    const keyless = await open([])
    const { account, project, store } = await createShop(keyless)
    const { id, account_id } = project
    const secret = { id, config }
    const game = { account_id, name: 'G', bundle_id: 'com.example.g', platform: 'web' }
    const web = { project_id: id, store_type: 'web' as const }
    const hook = { webhook_secret: { env: 'HOOK' } }
    const catalog = {
      project_id: id,
      catalog: { stores: [{ store_id: 'main', store_config: hook }] },
      env: { HOOK: 'whs_of_catalog' },
    }
    await (await open([OLD])).operations.requireMasterKey()

    for (const till of [keyless, await open([NEW])]) {
      for (const write of [
        () => till.projects.create(account, { ...game, config }),
        () => till.projects.update(account, secret),
        () => till.stores.create(account, { ...web, store_config: config }),
        () => till.stores.update(account, { store_id: store.store_id, store_config: config }),
        () => till.catalog.apply(account, catalog),
      ]) {
        await assert.rejects(write(), MISMATCH)
      }
      await till.projects.update(account, { id, config: { other: 1 } })
    }
    assert.deepEqual(await keyless.operations.listUnsealedSecrets(), [])
    await (await open([OLD])).projects.update(account, secret)
  })

  test('the first secret with a master key requires the key from then on', async (t) => {
    const open = await start(t)
    const keyless = await open([])
    const { account, project } = await createShop(keyless)
    const { id } = project
    await keyless.projects.update(account, { id, config })
    const unsealed = [{ ...shownOf(project), field: 'webhook_secret' }]
    assert.deepEqual(await keyless.operations.listUnsealedSecrets(), unsealed)
    const change = { store_id: 'main', store_config: { webhook_secret: 'whs_second' } }

    await (await open([OLD])).stores.update(account, change)

    await keyless.projects.update(account, { id, name: 'With its unencrypted secret' })
    const update = keyless.projects.update(account, { id, config: { webhook_secret: 'whs_3' } })
    await assert.rejects(update, MISMATCH)
  })

  test('a rotation of the master key ends when all secrets are sealed with the new one', async (t) => {
    const open = await start(t)
    const [old, both, renewed] = [await open([OLD]), await open([NEW, OLD]), await open([NEW])]
    const { account, project } = await createShop(old)
    const { id } = project
    const set = (till: Till, webhook_secret: string) =>
      till.projects.update(account, { id, config: { webhook_secret } })

    await set(old, 'a')
    await both.operations.requireMasterKey()
    for (const till of [both, old]) await set(till, 'b')
    await assert.rejects(set(renewed, 'c'), MISMATCH)
    await assert.rejects(renewed.operations.requireMasterKey(), MISMATCH)

    assert.equal((await both.operations.sealSecrets()).sealed, 1)
    await set(renewed, 'd')
    await assert.rejects(set(old, 'e'), MISMATCH)
  })

  test('a key that never sealed anything cannot replace the check value', async (t) => {
    const open = await start(t)
    await (await open([OLD])).operations.requireMasterKey()

    await assert.rejects((await open([NEW])).operations.sealSecrets(), MISMATCH)
    await (await open([])).operations.sealSecrets()

    await assert.rejects((await open([NEW])).operations.requireMasterKey(), MISMATCH)
  })

  test('dropping the secrets of a lost key ends when none is left', async (t) => {
    const open = await start(t)
    const old = await open([OLD])
    const renewed = await open([NEW])
    const { account, project } = await createShop(old)
    const { id } = project
    await old.projects.update(account, { id, config })

    await old.operations.dropUnreadableSecrets() // drops nothing
    await assert.rejects(renewed.operations.requireMasterKey(), MISMATCH)
    assert.equal((await renewed.operations.dropUnreadableSecrets()).length, 1)

    await (await open([])).projects.update(account, { id, config: { webhook_secret: 'plain' } })
    await renewed.operations.requireMasterKey()
    await assert.rejects(old.operations.requireMasterKey(), MISMATCH)
  })
}

type OpenTill = (masterKeys: Uint8Array[]) => Promise<Till>

function shownOf({ account_id, id: project_id }: Project) {
  return { account_id, project_id }
}

/** A project and three stores with every kind of secret. */
async function createSecrets(till: Till) {
  const account = await till.accounts.create({ name: 'Studio' })
  const project = await till.projects.create(account, {
    account_id: account.account_id,
    name: 'Game',
    bundle_id: 'com.example.game',
    platform: 'mobile',
    config: { webhook_secret: 'whs_of_project' },
  })
  const create = (store_id: string, store_type: StoreType, store_config: JsonObject) =>
    till.stores.create(account, { project_id: project.id, store_id, store_type, store_config })
  const iap = await create('iap', 'iap', {
    platform: 'google_play',
    shared_secret: 'shared_of_iap',
    webhook_secret: 'whs_of_iap',
  })
  await create('custom', 'custom', { provider: 'p', api_key: 'api_of_custom' })
  await create('web', 'web', { webhook_secret: 'whs_of_web' })
  return { account, project, iap }
}

async function storageOf(t: TestContext, place: Place): Promise<Storage> {
  const storage = await openSqliteStorage(place.path)
  t.after(() => storage.close())
  return storage
}

function assertAbsent(place: Place, secrets: readonly string[]): void {
  const bytes = place.bytes()
  assert.ok(bytes.length > 0)
  for (const secret of secrets) assert.equal(bytes.includes(secret), false, secret)
}
