import assert from 'node:assert/strict'
import { createTill, type JsonObject } from '../../lib/index.ts'
import { pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, openStorage } from '../support/till.ts'

const EXCEEDED = { code: 'quota_exceeded', kind: 'invalid' }
const GAME = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }

/** Counts the fulfilled promises. The others must be rejected with `quota_exceeded`. */
async function keptOf(all: readonly Promise<unknown>[]): Promise<number> {
  const settled = await Promise.allSettled(all)
  for (const each of settled) {
    if (each.status === 'rejected') assert.equal(each.reason.code, EXCEEDED.code, each.reason)
  }
  return pluck(settled, 'status').filter((status) => status === 'fulfilled').length
}

test('concurrent creates fill the quotas exactly, each for its own account or project', async () => {
  const { till, account, project_id } = await createShop({
    quotas: { projects: 4, storesPerProject: 3 },
  })
  const other = await createShop(till, 'Other')
  const create = () => till.projects.create(account, GAME)
  const createStore = () => till.stores.create(account, { project_id, store_type: 'web' })
  const twelve = <T>(make: () => T) => Array.from({ length: 12 }, make)

  assert.deepEqual([await keptOf(twelve(create)), await keptOf(twelve(createStore))], [3, 2])

  const { projects } = await till.projects.list(account)
  assert.equal(projects.length, 4)
  assert.equal((await till.stores.list(account, { project_id })).stores.length, 3)
  await till.stores.create(account, { project_id: projects[1]?.id ?? '', store_type: 'web' })
  await till.projects.create(other.account, GAME)
})

test('a catalog may fill the quota of items exactly', async () => {
  const { till, account, project_id } = await createShop({ quotas: { items: 3 } }) // it has one
  const apply = (...names: string[]) => {
    const fields = { display_name: 'Gem', price: '99', type: 'consumable' as const }
    const stores = [{ store_id: 'main', items: names.map((name) => ({ name, ...fields })) }]
    return till.catalog.apply(account, { project_id, catalog: { stores } })
  }

  await assert.rejects(apply('a', 'b', 'c'), EXCEEDED)
  assert.equal((await apply('a', 'b')).created, 2)
  await assert.rejects(apply('c'), EXCEEDED)
})

test('concurrent new keys fill the quota exactly; revoked ones make room, and the oldest are deleted', async () => {
  const { till, account: withKey } = await createShop({ quotas: { keys: 3 } })
  const account = await till.accounts.get(withKey.account_id)
  const other = await createShop(till, 'Other')
  const addKey = () => till.accounts.addKey(account)
  const [first = assert.fail()] = await till.accounts.listKeys(account)

  assert.equal(await keptOf(Array.from({ length: 12 }, addKey)), 2)

  await till.accounts.addKey(other.account)
  await till.accounts.revokeKey(account, first.key_id)
  for (let n = 0; n < 8; n++) {
    const { account_key, key_id } = await addKey()
    await till.accounts.authenticate(account_key)
    await till.accounts.revokeKey(account, key_id)
    await assert.rejects(till.accounts.authenticate(account_key), { code: 'account_key_required' })
  }
  const keys = await till.accounts.listKeys(account)
  const revoked = keys.filter(({ revoked_at }) => revoked_at !== undefined)
  assert.deepEqual([keys.length, revoked.length], [6, 4])
  assert.ok(!keys.some(({ key_id }) => key_id === first.key_id))
})

test('the bytes of all configurations count in UTF-8, and an account above its quota can shrink them', async () => {
  const storage = await openStorage()
  const { till: free, account, project_id: first } = await createShop({ storage })
  const { id: second } = await free.projects.create(account, GAME)
  const sized = { text: 'ü\u{1F600}' }
  const bytesOf = (config: JsonObject) => Buffer.byteLength(JSON.stringify(config))
  const configBytes = bytesOf({ currency: 'USD' }) + bytesOf({}) + bytesOf(sized)
  const till = createTill({ storage, quotas: { configBytes } })
  const update = (id: string, config: JsonObject) => till.projects.update(account, { id, config })

  assert.equal(await keptOf([update(first, sized), update(second, sized)]), 1)

  const { projects } = await till.projects.list(account)
  const id = projects.find(({ config }) => config.text === sized.text)?.id ?? assert.fail()
  const grown = { text: `${sized.text}x` }
  const store = { store_id: 'main', store_config: { currency: 'USD', a: 1 } }
  await assert.rejects(update(id, grown), EXCEEDED)
  await assert.rejects(till.stores.update(account, store), EXCEEDED)
  await update(id, { text: 'ü' })
  await update(id, sized)
  await assert.rejects(till.projects.create(account, GAME), EXCEEDED)

  await free.projects.update(account, { id, config: { text: 'x'.repeat(500) } })
  await update(id, { text: 'y'.repeat(500) })
  await assert.rejects(update(id, { text: 'y'.repeat(501) }), EXCEEDED)
  await update(id, { text: 'y'.repeat(400) })
})
