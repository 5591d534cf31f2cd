import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Account, type CreateOptions, openSqliteStorage, type Till } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { describeFiles, type NewPlace, type Place } from '../support/place.ts'
import { createShop, failureOf } from '../support/till.ts'

const DAY = 86_400_000
const KEY = { idempotencyKey: 'k-1' }
const SECRET = 'whs_do_not_show_this'

type Create = (
  shop: Shop,
  change?: object,
  options?: CreateOptions,
) => Promise<{ readonly created_at: string }>

/** The operations that take an idempotency key, each with a valid input. */
const creations: Record<string, Create> = {
  'projects.create': ({ till, account }, change, options = KEY) => {
    const config = { webhook_secret: SECRET, custom_settings: { z: 1, a: [2, null] } }
    return till.projects.create(account, { ...game(account), config, ...change }, options)
  },
  'stores.create': ({ till, account, project }, change, options = KEY) => {
    const store_config = { provider: 'p', api_key: SECRET, webhook_secret: `${SECRET}2` }
    const store = { project_id: project.id, store_type: 'custom' as const, store_config }
    return till.stores.create(account, { ...store, ...change }, options)
  },
  'stores.create of a store_id': ({ till, account, project }, change, options = KEY) => {
    const store = { project_id: project.id, store_id: 'side', store_type: 'web' as const }
    return till.stores.create(account, { ...store, ...change }, options)
  },
  'items.create': ({ till, account }, change, options = KEY) => {
    const item = { store_id: 'main', name: 'silver', display_name: 'Silver', price: '99' }
    const meta = { z: 1, a: { '1': 'x', b: -0.5 } }
    return till.items.create(account, { ...item, type: 'consumable', meta, ...change }, options)
  },
}

await describeFiles('a repeated call', (newPlace) => {
  for (const [name, create] of Object.entries(creations)) {
    describeCreation(newPlace, name, create)
  }
  describeKeys(newPlace)
})
await describeFiles('an idempotency record', describeIdempotencyRecords)

function describeCreation(newPlace: NewPlace, name: string, create: Create): void {
  test(`returns the first answer and creates nothing: ${name}`, async (t) => {
    const place = newPlace(t)
    const shop = await place.shop()
    const first = await create(shop)
    const before = await everything(shop)

    shop.clock.pass(DAY - 1)
    const second = await create(shop)
    const elsewhere = await create({ ...shop, till: await place.till() })

    assert.deepEqual(second, first)
    assert.equal(JSON.stringify(second), JSON.stringify(first))
    assert.deepEqual(elsewhere, first)
    assert.deepEqual(await everything(shop), before)
  })

  test(`is a new call after one day: ${name}`, async (t) => {
    const shop = await newPlace(t).shop()
    const first = await create(shop)

    shop.clock.pass(DAY)
    const second = await create(shop, another(name))

    assert.notDeepEqual(second, first)
    assert.deepEqual(await create(shop, another(name)), second)
  })

  test(`with another input is refused and creates nothing: ${name}`, async (t) => {
    const shop = await newPlace(t).shop()
    await create(shop)
    const before = await everything(shop)

    const repeated = create(shop, another(name))

    const details = [
      { field: 'Idempotency-Key', code: 'reused', message: 'was used before with another request' },
    ]
    await assert.rejects(repeated, { code: 'invalid_request', details })
    assert.deepEqual(await everything(shop), before)
  })

  test(`creates one record in 20 concurrent calls: ${name}`, async (t) => {
    const place = newPlace(t)
    const shop = await place.shop()
    const other = { ...shop, till: await place.till() }
    const before = await everything(shop)

    const calls = Array.from({ length: 20 }, (_, n) => create(n % 2 === 0 ? shop : other))
    const [first, ...rest] = await Promise.all(calls)

    for (const each of rest) assert.deepEqual(each, first)
    const after = await everything(shop)
    assert.equal(after.audit.length, before.audit.length + 1)
    assert.equal(countOf(after), countOf(before) + 1)
  })

  test(`with the key of another account is a new call: ${name}`, async (t) => {
    const shop = await newPlace(t).shop()
    const other = { ...shop, ...(await createShop(shop.till, 'Other')) }
    const first = await create(shop)

    const others = await create(other, another(name))

    assert.notDeepEqual(others, first)
    assert.deepEqual(await create(shop), first)
    assert.deepEqual(await create(other, another(name)), others)
  })
}

function describeKeys(newPlace: NewPlace): void {
  test('is refused for an unknown field that nests deeper than JSON.stringify can write', async (t) => {
    const shop = await newPlace(t).shop()
    let deep: object = {}
    for (let depth = 0; depth < 100_000; depth++) deep = { deep }

    for (const create of Object.values(creations)) {
      const { details } = await failureOf(create(shop, { deep }))
      assert.deepEqual(
        details.map(({ field, code }) => [field, code]),
        [['deep', 'unknown']],
      )
    }
  })

  test('leaves no idempotency record when it fails', async (t) => {
    const shop = await newPlace(t).shop()
    const create = creations['items.create'] as Create
    for (const bad of [{ name: 'gold' }, { type: 'toaster' }]) {
      await assert.rejects(create(shop, bad), { code: 'invalid_request' })
    }

    const made = await create(shop, { name: 'free' })

    assert.deepEqual(await create(shop, { name: 'free' }), made)
  })

  test('with the key of another operation is a new call', async (t) => {
    const shop = await newPlace(t).shop()
    const [first, ...others] = Object.values(creations) as [Create, ...Create[]]
    await first(shop)

    for (const create of others) {
      await assert.rejects(create(shop), { code: 'invalid_request' })
    }
  })

  test('needs a key of 1 to 255 characters, and is a new call without one', async (t) => {
    const shop = await newPlace(t).shop()
    const create = creations['projects.create'] as Create
    for (const idempotencyKey of ['', 'k'.repeat(256), 'a\0b', '\ud800', 1 as unknown as string]) {
      await assert.rejects(create(shop, {}, { idempotencyKey }), { code: 'invalid_request' })
    }
    for (const idempotencyKey of ['k', 'k'.repeat(255)]) {
      const made = await create(shop, {}, { idempotencyKey })
      assert.deepEqual(await create(shop, {}, { idempotencyKey }), made)
    }
    assert.notDeepEqual(await create(shop, {}, {}), await create(shop, {}, {}))
  })

  test('returns the first answer after a rotation of the public key', async (t) => {
    const shop = await newPlace(t).shop()
    const create = creations['projects.create'] as Create
    const first = (await create(shop)) as Awaited<ReturnType<Till['projects']['create']>>
    await shop.till.projects.rotateKey(shop.account, { id: first.id })

    const repeated = await create(shop)

    assert.deepEqual(repeated, first)
    assert.equal(first.config.webhook_secret, SECRET)
  })
}

function describeIdempotencyRecords(newPlace: NewPlace): void {
  test('contains no secret and no unkeyed hash of one, with a master key', async (t) => {
    const place = newPlace(t)
    const shop = await place.shop({ masterKeys: [new Uint8Array(32).fill(1)] })
    const sealed = [creations['projects.create'], creations['stores.create']] as [Create, Create]
    for (const [index, create] of sealed.entries()) {
      const key = { idempotencyKey: `k-${index}` }
      assert.deepEqual(await create(shop, {}, key), await create(shop, {}, key))
    }

    assert.equal(place.bytes().includes(SECRET), false)
  })

  test('is recognised after a change of the master key; without the key, a repeat is refused', async (t) => {
    const place = newPlace(t)
    const [older, newer] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
    const shop = await place.shop({ masterKeys: [older] })
    const create = creations['projects.create'] as Create
    const first = await create(shop)
    const on = async (masterKeys: Uint8Array[]) => {
      return { ...shop, till: await place.till({ masterKeys }) }
    }

    assert.deepEqual(await create(await on([newer, older])), first)
    await assert.rejects(create(await on([newer])), { code: 'invalid_request' })
    assert.equal((await collect(shop.till.projects.all(shop.account))).length, 2)
  })

  test('is re-encrypted when secrets are sealed, and is still recognised', async (t) => {
    const place = newPlace(t)
    const shop = await place.shop()
    const create = creations['stores.create'] as Create
    const first = await create(shop)
    const plain = await fingerprintIn(place, shop.account)
    assert.ok(place.bytes().includes(plain))
    const [older, newer] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
    const on = async (masterKeys: Uint8Array[]) => {
      return { ...shop, till: await place.till({ masterKeys }) }
    }
    const seal = async ({ till }: Shop) => (await till.operations.sealSecrets()).idempotency_records

    const sealed = await on([older])
    assert.deepEqual([await seal(sealed), await seal(sealed)], [1, 0])
    assert.equal(place.bytes().includes(plain), false)
    assert.deepEqual(await create(sealed), first)
    const both = await on([newer, older])
    await create(both, {}, { idempotencyKey: 'of the newer key' })
    assert.deepEqual([await seal(both), await seal(both)], [1, 0])
    assert.deepEqual(await create(both), first)
    await assert.rejects(create(both, another('stores.create')), { code: 'invalid_request' })
    await assert.rejects(create(await on([newer])), { code: 'invalid_request' })
  })
}

type Shop = Awaited<ReturnType<Place['shop']>>

function game({ account_id }: Account) {
  return { account_id, name: 'Second', bundle_id: 'com.example.second', platform: 'web' }
}

/** A change that turns an input into a different valid input. */
function another(creation: string): object {
  if (creation === 'projects.create') return { config: { webhook_secret: 'another' } }
  return creation === 'items.create' ? { name: 'bronze' } : { store_id: 'another' }
}

/** The hash of the request, as the database file stores it. */
async function fingerprintIn({ path }: Place, { account_id }: Account): Promise<string> {
  const storage = await openSqliteStorage(path)
  const idempotency = await storage.findIdempotencyRecord(account_id, KEY.idempotencyKey)
  await storage.close()
  return idempotency?.fingerprint ?? assert.fail('there is no idempotency record')
}

/** All records of an account, and its audit log. */
async function everything({ till, account }: Shop) {
  const projects = await collect(till.projects.all(account))
  const stores = (
    await Promise.all(
      projects.map(({ id }) => collect(till.stores.all(account, { project_id: id }))),
    )
  ).flat()
  const items = await Promise.all(
    stores.map(({ store_id }) => till.items.list(account, { store_id })),
  )
  const { entries: audit } = await till.operations.listAudit({ account_id: account.account_id })
  return { projects, stores, items, audit }
}

function countOf({ projects, stores, items }: Awaited<ReturnType<typeof everything>>): number {
  return projects.length + stores.length + items.flatMap((each) => each.items).length
}
