import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTill, type Storage, type Till } from '../../lib/index.ts'
import { hashAccountKey } from '../../lib/services/ids.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { drivenBy, openPostgres, startPostgres } from '../support/postgres.ts'
import { createSignal } from '../support/server.ts'
import { createShop } from '../support/till.ts'

const server = await startPostgres()

test("one tenant's updates leave another's cached reads cached", async (t) => {
  const url = await server.emptySchema(t)
  const sent: string[] = []
  const postgres = drivenBy((sql, send) => {
    sent.push(sql)
    return send()
  })
  const till = createTill({ storage: await openPostgres(t, url, { postgres }) })
  const elsewhere = createTill({ storage: await openPostgres(t, url) })
  const own = await createShop(till, 'Own')
  const other = await createShop(elsewhere, 'Other')
  const session = await elsewhere.sessions.authenticate(other.token)
  const readsWithoutCache = async () => {
    sent.length = 0
    await readAll(till, own)
    // Leaves out version checks, and the signing keys, which are read every few seconds.
    return sent.filter((sql) => !/pg_current_snapshot|FROM signing_keys/.test(sql))
  }
  await eventuallyHolds(async () => assert.deepEqual(await readsWithoutCache(), []))

  // More than the misses after which the cache rests.
  for (let i = 1; i <= 20; i++) {
    const by = i % 2 === 0 ? till : elsewhere
    await by.projects.update(session, { id: other.project.id, name: `Game ${i}` })
    await by.stores.update(other.account, { store_id: 'main', store_config: { step: i } })
    await by.items.update(other.account, { id: other.item.id, price: `${i}` })
    await readAll(till, other)

    assert.deepEqual(await readsWithoutCache(), [], `step ${i}`)
  }
})

test('after each change another server reads the same as without a cache', async (t) => {
  const url = await server.emptySchema(t)
  const by = createTill({ storage: await openPostgres(t, url) })
  const storage = await openPostgres(t, url)
  const plain = await openPostgres(t, url, { cacheBytes: 0 })
  const shop = await createShop(by)
  const { account, project, item } = shop
  const project_id = project.id
  const { key_id, account_key } = await by.accounts.addKey(account)
  const reads = readsOf(shop, account_key)
  const changes: Record<string, () => Promise<unknown>> = {
    project: () => by.projects.update(account, { id: project_id, name: 'New' }),
    store: () => by.stores.update(account, { store_id: 'main', status: 'disabled' }),
    'new store': () => by.stores.create(account, { project_id, store_id: 'b', store_type: 'web' }),
    item: () => by.items.update(account, { id: item.id, price: '7' }),
    archive: () => by.items.archive(account, item.id),
    restore: () => by.items.restore(account, item.id),
    'new item': () =>
      by.items.create(account, {
        store_id: 'main',
        name: 'gem',
        display_name: 'Gem',
        price: '1',
        type: 'consumable',
      }),
    catalog: () =>
      by.catalog.apply(account, {
        project_id,
        catalog: {
          project: { name: 'Newer' },
          stores: [
            {
              store_id: 'main',
              store_config: { currency: 'EUR' },
              items: [{ name: 'gold', price: '8' }],
            },
          ],
        },
      }),
    revocation: () => by.sessions.revoke(account, { project_id, user_id: 'player' }),
    'public key': () => by.projects.rotateKey(account, { id: project_id }),
    'account key': () => by.accounts.revokeKey(account, key_id),
    erasure: () => by.users.erase(account, { project_id, user_id: 'player' }),
  }

  for (const [name, change] of Object.entries(changes)) {
    const before = await readTwice(storage, reads)
    await change()
    const after = await readTwice(storage, reads)
    const truth = await Promise.all(reads.map((read) => read(plain)))

    assert.deepEqual(after, truth, name)
    if (name !== 'erasure') assert.notDeepEqual(after, before, name)
  }
})

test("two accounts with eight summaries each leave connections for a third account's writes", async (t) => {
  const url = await server.emptySchema(t)
  const { given, give: release } = createSignal()
  let running = 0
  const postgres = drivenBy((sql, send) => {
    if (!sql.includes('count(DISTINCT')) return send()
    running++
    return given.then(send)
  })
  const storage = await openPostgres(t, url, { postgres, poolTimeout: 500 })
  const till = createTill({ storage })
  const [first, second, third] = [
    await createShop(till),
    await createShop(till),
    await createShop(till),
  ]
  const summaries = [first, second].flatMap(({ account }) =>
    Array.from({ length: 8 }, () => till.purchases.summarize(account, {})),
  )
  await eventuallyHolds(() => assert.equal(running, 3))

  const gem = { store_id: 'main', name: 'gem', display_name: 'Gem', price: '1' } as const
  await till.items.create(third.account, { ...gem, type: 'consumable' })
  const purchase = { transaction_id: 'T-1', sku: 'gem', purchased_at: '2026-01-01T00:00:00Z' }
  await till.purchases.record(third.account, { store_id: 'main', ...purchase })
  const file = [Buffer.from('transaction_id,sku,purchased_at\nT-2,gem,1700000000')]
  await till.purchases.import(third.account, { store_id: 'main', file })

  assert.equal(running, 3)
  release()
  assert.deepEqual(await Promise.all(summaries), Array(16).fill([]))
})

type Shop = Awaited<ReturnType<typeof createShop>>
type Read = (storage: Storage) => Promise<unknown>

/** Calls each cached method. */
function readsOf({ account, project, item }: Shop, account_key: string): readonly Read[] {
  const { account_id } = account
  const page = { limit: 100 }
  return [
    (storage) => storage.findAccountByKeyHash(hashAccountKey(account_key)),
    (storage) => storage.findProject(project.id),
    (storage) => storage.findProjectByPublicKey(project.public_key),
    (storage) => storage.findFormerPublicKey(project.public_key),
    (storage) => storage.findStore(account_id, 'main'),
    (storage) => storage.listStoreSummaries(project.id, page),
    (storage) => storage.findItem(item.id),
    (storage) => storage.listItems({ account_id, store_id: 'main' }, page),
    (storage) => storage.findWatermark(project.id, 'player'),
  ]
}

/** The second reads show what the first ones cached. */
async function readTwice(storage: Storage, reads: readonly Read[]): Promise<unknown[]> {
  await Promise.all(reads.map((read) => read(storage)))
  return Promise.all(reads.map((read) => read(storage)))
}

/** Reads what most requests need: sessions, projects, stores and items. */
async function readAll(till: Till, { account, project, item, token }: Shop): Promise<void> {
  const session = await till.sessions.authenticate(token)
  await Promise.all([
    till.sessions.init(project.public_key, { user_id: 'player' }),
    till.projects.get(session, project.id),
    till.stores.get(session, 'main'),
    till.items.get(account, item.id),
    till.items.list(session, { store_id: 'main' }),
  ])
}
