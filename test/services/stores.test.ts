import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createMemoryStorage, createTill } from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { describeFiles, type Place } from '../support/place.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const MASTER_KEY = Buffer.alloc(32, 7)
const OTHER_KEY = Buffer.alloc(32, 8)
const HEADER = 'transaction_id,sku,purchased_at\n'

await describeFiles('the change of a store', describeChange)

function describeChange(newPlace: (t: TestContext) => Place): void {
  test('closes it for all processes at once, and opens it again', async (t) => {
    const place = newPlace(t)
    const till = await place.till()
    const { account, project } = await createShop(till)
    const other = await place.till()
    const shown = async () => {
      const { stores } = await other.sessions.init(project.public_key, { user_id: 'player' })
      return stores.filter(({ status }) => status === 'active').map(({ store_id }) => store_id)
    }
    assert.deepEqual(await shown(), ['main'])

    const closed = await till.stores.update(account, { store_id: 'main', status: 'disabled' })

    assert.equal(closed.status, 'disabled')
    assert.deepEqual(closed.store_config, { currency: 'USD' })
    assert.deepEqual(await shown(), [])
    const request = () => ({ store_id: 'main', file: fileOf(HEADER) })
    await assert.rejects(other.purchases.import(account, request()), { code: 'store_inactive' })
    await till.stores.update(account, { store_id: 'main', status: 'active' })
    assert.deepEqual(await shown(), ['main'])
    assert.equal((await other.purchases.import(account, request())).rows, 0)
  })

  test('replaces the whole configuration except the secrets that it leaves out', async (t) => {
    for (const masterKeys of [[], [MASTER_KEY]]) {
      const place = newPlace(t)
      const till = await place.till({ masterKeys })
      const { account, project } = await createShop(till)
      const project_id = project.id
      const secrets = { api_key: 'api_1', webhook_secret: 'whs_1' }
      const store_id = `mods_${masterKeys.length}`
      const created = { project_id, store_id, store_type: 'custom' as const }
      await till.stores.create(account, { ...created, store_config: { ...secrets, provider: 'A' } })
      const change = async (store_config: { [key: string]: unknown }) =>
        (await till.stores.update(account, { store_id, store_config })).store_config

      assert.deepEqual(await change({ provider: 'B' }), { provider: 'B' })
      assert.deepEqual(await change({ api_key: 'api_2' }), { api_key: 'api_2' })
      assert.deepEqual(await change({ webhook_secret: null, test_mode: true }), { test_mode: true })

      assert.deepEqual((await till.stores.get(account, store_id)).store_config, { test_mode: true })
      assert.equal(place.bytes().includes('api_2'), masterKeys.length === 0)
      const stranger = await place.till({ masterKeys: [OTHER_KEY] })
      const unreadable = await stranger.operations.listUnreadableSecrets()
      const left = masterKeys.length === 0 ? [] : ['api_key']
      assert.deepEqual(pluck(unreadable, 'field'), left)
    }
  })

  test('is validated for the type of the store, and changes no other field', async (t) => {
    const till = await newPlace(t).till()
    const { account } = await createShop(till)
    const store_id = 'main'
    const update = (change: object) =>
      failureOf(till.stores.update(account, { store_id, ...change }))

    const bad = await update({ is_sandbox: 1, status: '', store_config: { return_url: 'nowhere' } })
    assert.deepEqual(pluck(bad.details, 'field'), [
      'is_sandbox',
      'status',
      'store_config.return_url',
    ])
    const unknown = await update({ store_type: 'iap' })
    assert.deepEqual(
      unknown.details.map(({ field, code }) => [field, code]),
      [['store_type', 'unknown']],
    )
    const empty = await till.stores.update(account, { store_id })
    assert.deepEqual(empty, await till.stores.get(account, store_id))
  })
}

test('reading all stores of a project starts at the first: a cursor does not compile', async (t) => {
  const till = createTill({ storage: createMemoryStorage() })
  t.after(() => till.close())
  const { account, project } = await createShop(till)

  const all = await collect(till.stores.all(account, { project_id: project.id }))
  // @ts-expect-error: only a page has a cursor.
  till.stores.all(account, { project_id: project.id, cursor: '1' })

  assert.deepEqual(pluck(all, 'store_id'), ['main'])
})
