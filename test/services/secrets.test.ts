import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createTill, type JsonObject, type StoreType, type Till } from '../../lib/index.ts'
import { createSealer, type Sealed } from '../../lib/services/sealer.ts'
import { sealSecrets } from '../../lib/services/secret-fields.ts'
import { all, collect, pluck } from '../support/collect.ts'
import { testOnEach } from '../support/databases.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { newPlace, type Place } from '../support/place.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createShop } from '../support/till.ts'

const server = await startPostgres() // before any test: see scripts/test-group.mjs
const OLD = new Uint8Array(32).fill(1)
const NEW = new Uint8Array(32).fill(2)
const STRANGE = new Uint8Array(32).fill(3)
const SECRETS = ['whs_of_project', 'shared_of_iap', 'whs_of_iap', 'api_of_custom', 'whs_of_web']
const MISMATCH = { code: 'master_key_mismatch', message: /TILLKIT_MASTER_KEY/ }

/** The result of sealing without idempotency records. */
const sealedOf = (sealed: number, unreadable: number) => ({
  ...{ sealed, unreadable, idempotency_records: 0 },
})

describe('a sealer', () => {
  test('opens nothing in another field, under another key, or with a changed bit', () => {
    const sealer = createSealer([OLD])
    const sealed = sealer.seal('secret', 'here') as Sealed
    assert.notDeepEqual(sealer.seal('secret', 'here'), sealed)
    assert.equal(sealer.open(sealed, 'here'), 'secret')
    const bytes = Buffer.from(sealed.sealed, 'base64url')
    const open = (part: Uint8Array) =>
      sealer.open({ ...sealed, sealed: Buffer.from(part).toString('base64url') }, 'here')

    assert.equal(sealer.open(sealed, 'there'), undefined)
    for (const keys of [[NEW], []]) assert.equal(createSealer(keys).open(sealed, 'here'), undefined)
    const { key } = createSealer([NEW]).seal('secret', 'here') as Sealed
    assert.equal(createSealer([NEW]).open({ ...sealed, key }, 'here'), undefined)
    for (let at = 0; at < bytes.length; at++) {
      assert.equal(open(bytes.map((byte, i) => (i === at ? byte ^ 1 : byte))), undefined)
      assert.equal(open(bytes.subarray(0, at)), undefined)
    }
  })
})

test('a configuration is copied only once to leave out its secrets', async () => {
  const { till } = await createShop()
  const { account, project } = await createSecrets(till)
  await till.projects.get(account, project.id) // fills the read cache
  const [shown, again] = [
    await till.projects.get(account, project.id),
    await till.projects.get(account, project.id),
  ]
  assert.equal(shown, again)
  assert.ok(Object.isFrozen(shown.config))
  assert.equal(shown.config.webhook_secret, undefined)
})

test('secrets are returned only in the answer to the call that sets them, sealed or not', async () => {
  for (const masterKeys of [[], [OLD]]) {
    const { till } = await createShop({ masterKeys })
    const { account, project, iap } = await createSecrets(till)
    const { id: project_id, public_key } = project
    assert.equal(project.config.webhook_secret, 'whs_of_project')
    assert.equal(iap.store_config.shared_secret, 'shared_of_iap')

    const shown = JSON.stringify([
      await till.projects.get(account, project_id),
      await collect(till.projects.all(account)),
      await till.projects.authenticate(public_key),
      await collect(till.stores.all(account, { project_id })),
      await till.stores.get(account, 'iap'),
      await till.sessions.init(public_key, { user_id: 'ann' }),
      await till.projects.rotateKey(account, { id: project_id }),
      await till.projects.update(account, { id: project_id, name: 'New' }),
    ])
    for (const secret of [...SECRETS, 'sealed']) assert.equal(shown.includes(secret), false)
  }
})

test('a change replaces the whole configuration of a store except the secrets that it leaves out', async (t) => {
  for (const masterKeys of [[], [OLD]]) {
    const place = newPlace(t)
    const { till, account, project_id } = await place.shop({ masterKeys })
    const secrets = { api_key: 'api_1', webhook_secret: 'whs_1' }
    const store = { project_id, store_id: 'mods', store_type: 'custom' as const }
    await till.stores.create(account, { ...store, store_config: { ...secrets, provider: 'A' } })
    const change = async (store_config: JsonObject) =>
      (await till.stores.update(account, { store_id: 'mods', store_config })).store_config

    assert.deepEqual(await change({ provider: 'B' }), { provider: 'B' })
    assert.deepEqual(await change({ api_key: 'api_2' }), { api_key: 'api_2' })
    assert.deepEqual(await change({ webhook_secret: null, test_mode: true }), { test_mode: true })

    assert.deepEqual((await till.stores.get(account, 'mods')).store_config, { test_mode: true })
    assert.equal(place.bytes().includes('api_2'), masterKeys.length === 0)
    const stranger = await place.till({ masterKeys: [STRANGE] })
    const left = masterKeys.length === 0 ? [] : ['api_key']
    assert.deepEqual(pluck(await stranger.operator.listUnreadableSecrets(), 'field'), left)
  }
})

describe('a database file', () => {
  test('contains no secret in clear once they are sealed, nor after a change, and neither does its WAL', async (t) => {
    const place = newPlace(t)
    const clear = await place.till()
    const { account, project } = await createSecrets(clear)
    // Large enough for its own pages, which SQLite frees when the secret is removed.
    const config = { webhook_secret: 'whs_removed', filling: 'x'.repeat(60_000) }
    await clear.projects.update(account, { id: project.id, config })
    await clear.projects.update(account, { id: project.id, config: { webhook_secret: null } })
    assert.ok([...SECRETS, 'whs_removed'].every((secret) => place.bytes().includes(secret)))

    const till = await place.till({ masterKeys: [OLD] })
    assert.deepEqual(await till.operator.sealSecrets(), sealedOf(3, 0))

    const changed = { webhook_secret: 'whs_changed' }
    await till.projects.update(account, { id: project.id, config: changed })
    await till.projects.update(account, { id: project.id, config: { other: 1 } })
    const absent = [...SECRETS, 'whs_removed', 'whs_changed']
    assertAbsent(place, absent)
    assert.deepEqual(await clear.operator.check(), [])
    assert.equal((await clear.projects.get(account, project.id)).id, project.id)
    for (const each of [clear, till]) await each.close()
    assertAbsent(place, absent)
  })

  test('is resealed with the newest master key, at once or when its record changes', async (t) => {
    const place = newPlace(t)
    const old = await place.till({ masterKeys: [OLD] })
    const { account, project } = await createSecrets(old)
    const both = await place.till({ masterKeys: [NEW, OLD] })
    const storage = await place.storage()
    const opener = createSealer([NEW])

    await both.projects.update(account, { id: project.id, config: { other: 1 } })
    const secret = (await storage.findProject(project.id))?.config.webhook_secret
    assert.equal(opener.open(secret as Sealed, `${project.id}/webhook_secret`), 'whs_of_project')
    assert.deepEqual(await both.operator.sealSecrets(), sealedOf(3, 0))
    assert.deepEqual(await both.operator.sealSecrets(), sealedOf(0, 0))

    const store = await storage.findStore(account.account_id, 'iap')
    const iap = `${account.account_id}/iap`
    const { shared_secret, webhook_secret } = store?.store_config ?? {}
    assert.equal(opener.open(shared_secret as Sealed, `${iap}/shared_secret`), 'shared_of_iap')
    assert.equal(opener.open(webhook_secret as Sealed, `${iap}/webhook_secret`), 'whs_of_iap')
  })

  test('leaves the digest of an earlier plan valid after a change of the master key', async (t) => {
    const place = newPlace(t)
    const { till, account, project_id } = await place.shop({ masterKeys: [OLD] })
    const request = { project_id, catalog: { project: { name: 'Renamed' } } }
    const { digest } = await till.catalog.plan(account, request)
    const both = await place.till({ masterKeys: [NEW, OLD] })
    assert.equal((await both.catalog.apply(account, { ...request, digest })).updated, 1)
  })

  test('keeps, counts, lists and drops secrets that no master key opens, and serves all else', async (t) => {
    const place = newPlace(t)
    const strange = await place.till({ masterKeys: [STRANGE] })
    const { account, project } = await createSecrets(strange)
    const { account_id } = account
    const { id: project_id } = project
    const till = await place.till({ masterKeys: [NEW] })
    const both = await place.till({ masterKeys: [NEW, STRANGE] })
    const keyless = await place.till()
    const opens = ({ operator }: Till) => operator.assertSecretsOpen()
    const create = (on: Till, store_id: string, store_type: StoreType, store_config: JsonObject) =>
      on.stores.create(account, { project_id, store_id, store_type, store_config })
    await create(both, 'readable', 'web', { webhook_secret: 'whs_kept', a: 'USD' })
    await create(strange, 'both', 'custom', { provider: 'p', api_key: 'api_lost' })
    const lost = [
      { account_id, project_id, field: 'webhook_secret' },
      { account_id, project_id, store_id: 'iap', field: 'webhook_secret' },
      { account_id, project_id, store_id: 'iap', field: 'shared_secret' },
      { account_id, project_id, store_id: 'custom', field: 'api_key' },
      { account_id, project_id, store_id: 'web', field: 'webhook_secret' },
      { account_id, project_id, store_id: 'both', field: 'api_key' },
    ]

    assert.deepEqual(await till.operator.sealSecrets(), sealedOf(0, 6))
    const changed = await till.projects.update(account, { id: project_id, config: { a: 1 } })
    assert.deepEqual(changed.config, { a: 1 })
    await till.sessions.init(project.public_key, { user_id: 'ann' })
    await opens(both)
    for (const each of [till, keyless]) {
      await assert.rejects(opens(each), { code: 'master_key_mismatch' })
    }
    assert.deepEqual(await till.operator.listUnreadableSecrets(), lost)
    assert.deepEqual(await both.operator.listUnreadableSecrets(), [])
    await assert.rejects(keyless.operator.listUnreadableSecrets(), TypeError)
    await assert.rejects(keyless.operator.dropUnreadableSecrets(), TypeError)
    assert.deepEqual(await both.operator.dropUnreadableSecrets(), [])
    assert.deepEqual(await till.operator.dropUnreadableSecrets({ requestId: 'r-1' }), lost)

    await opens(till)
    assert.deepEqual(await till.operator.listUnreadableSecrets(), [])
    const storage = await place.storage()
    const kept = await storage.findStore(account_id, 'readable')
    const where = `${account_id}/readable/webhook_secret`
    const secret = kept?.store_config.webhook_secret as Sealed
    assert.equal(createSealer([NEW]).open(secret, where), 'whs_kept')
    assert.equal(kept?.store_config.a, 'USD')
    assert.deepEqual((await storage.findStore(account_id, 'both'))?.store_config, {
      provider: 'p',
    })
    const { entries } = await till.operator.listAudit({ account_id })
    const drops = entries.filter(({ action }) => action === 'secrets.drop')
    assert.deepEqual(
      drops.map(({ actor, subject, request_id }) => [actor, subject, request_id]),
      [project_id, 'iap', 'custom', 'web', 'both'].map((each) => ['operator', each, 'r-1']),
    )
    const config = { webhook_secret: 'whs_new' }
    const again = await till.projects.update(account, { id: project_id, config })
    assert.deepEqual(again.config, config)
  })

  test('keeps a value under the name of a secret that the store type does not have', async (t) => {
    const place = newPlace(t)
    const { till, account, project_id } = await place.shop({ masterKeys: [OLD] })
    const store_config = { api_key: { key: 'kept', sealed: 'kept' }, shared_secret: 7 }
    const web = { project_id, store_type: 'web' as const, store_id: 'odd' }
    const made = await till.stores.create(account, { ...web, store_config })
    assert.deepEqual(made.store_config, store_config)

    await till.operator.sealSecrets()

    const storage = await place.storage()
    const kept = await storage.findStore(account.account_id, 'odd')
    assert.deepEqual(kept?.store_config, store_config)
    assert.deepEqual((await till.stores.get(account, 'odd')).store_config, {})
  })

  test('without a master key seals nothing, and keeps sealed secrets', async (t) => {
    const place = newPlace(t)
    const till = await place.till()
    await createSecrets(till)
    const { project } = await createSecrets(await place.till({ masterKeys: [OLD] }))

    assert.deepEqual(await till.operator.sealSecrets(), sealedOf(0, 5))
    const storage = await place.storage()
    const kept = await storage.findProject(project.id)
    const [store] = await all((page) => storage.listStores(project.id, page))
    assert.ok(kept && store)
    assert.equal(sealSecrets(kept, createSealer([OLD])), kept)
    assert.equal(sealSecrets(store, createSealer([OLD])), store)
  })
})

/** Returns a function that opens a till with these keys on the database of the test. */
const openOn = (t: TestContext) => {
  const place = newPlace(t)
  return (masterKeys: Uint8Array[]) => place.till({ masterKeys })
}

describe('the check value of the master key', () => {
  const config = { webhook_secret: 'whs_first' }

  testOnEach('refuses the first secret without the master key that a server has', async (t) => {
    const open = openOn(t)
    const keyless = await open([])
    const { account, project_id: id, store } = await createShop(keyless)
    const game = { name: 'G', bundle_id: 'com.example.g', platform: 'web' }
    const web = { project_id: id, store_type: 'web' as const }
    const hook = { webhook_secret: { env: 'HOOK' } }
    const catalog = {
      project_id: id,
      catalog: { stores: [{ store_id: 'main', store_config: hook }] },
      env: { HOOK: 'whs_of_catalog' },
    }
    await (await open([OLD])).operator.requireMasterKey()

    for (const till of [keyless, await open([NEW])]) {
      for (const write of [
        () => till.projects.create(account, { ...game, config }),
        () => till.projects.update(account, { id, config }),
        () => till.stores.create(account, { ...web, store_config: config }),
        () => till.stores.update(account, { store_id: store.store_id, store_config: config }),
        () => till.catalog.apply(account, catalog),
      ]) {
        await assert.rejects(write(), MISMATCH)
      }
      await till.projects.update(account, { id, config: { other: 1 } })
    }
    // A key that never sealed anything does not replace the value.
    await assert.rejects((await open([NEW])).operator.sealSecrets(), MISMATCH)
    await keyless.operator.sealSecrets()
    await assert.rejects((await open([NEW])).operator.requireMasterKey(), MISMATCH)
    assert.deepEqual(await keyless.operator.listUnsealedSecrets(), [])
    await (await open([OLD])).projects.update(account, { id, config })
  })

  testOnEach('is set by the first secret that is stored with a key', async (t) => {
    const open = openOn(t)
    const keyless = await open([])
    const { account, account_id, project_id: id } = await createShop(keyless)
    await keyless.projects.update(account, { id, config })
    const unsealed = [{ account_id, project_id: id, field: 'webhook_secret' }]
    assert.deepEqual(await keyless.operator.listUnsealedSecrets(), unsealed)
    const change = { store_id: 'main', store_config: { webhook_secret: 'whs_second' } }

    await (await open([OLD])).stores.update(account, change)

    await keyless.projects.update(account, { id, name: 'With its unencrypted secret' })
    const update = keyless.projects.update(account, { id, config: { webhook_secret: 'whs_3' } })
    await assert.rejects(update, MISMATCH)
  })

  testOnEach('changes when secrets are sealed anew, or lost ones are dropped', async (t) => {
    const open = openOn(t)
    const [old, both, renewed] = [await open([OLD]), await open([NEW, OLD]), await open([NEW])]
    const { account, project_id: id } = await createShop(old)
    const set = (till: Till, webhook_secret: string) =>
      till.projects.update(account, { id, config: { webhook_secret } })

    await set(old, 'a')
    await both.operator.requireMasterKey()
    for (const till of [both, old]) await set(till, 'b')
    await assert.rejects(set(renewed, 'c'), MISMATCH)
    await assert.rejects(renewed.operator.requireMasterKey(), MISMATCH)

    assert.equal((await both.operator.sealSecrets()).sealed, 1)
    await set(renewed, 'd')
    await assert.rejects(set(old, 'e'), MISMATCH)

    await renewed.operator.dropUnreadableSecrets() // drops nothing
    await assert.rejects(old.operator.requireMasterKey(), MISMATCH)
    assert.equal((await old.operator.dropUnreadableSecrets()).length, 1)
    await set(await open([]), 'plain')
    await old.operator.requireMasterKey()
    await assert.rejects(renewed.operator.requireMasterKey(), MISMATCH)
  })
})

test('on PostgreSQL, a write without the key waits for the first write of the check value', async (t) => {
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

/** A project and three stores with every kind of secret. */
async function createSecrets(till: Till) {
  const account = await till.accounts.create({ name: 'Studio' })
  const project = await till.projects.create(account, {
    ...{ name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' },
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

function assertAbsent(place: Place, secrets: readonly string[]): void {
  const bytes = place.bytes()
  assert.ok(bytes.length > 0)
  for (const secret of secrets) assert.equal(bytes.includes(secret), false, secret)
}
