import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { newItemInput } from '../../lib/domain/item.ts'
import { newProjectFields } from '../../lib/domain/project.ts'
import { optional, text } from '../../lib/domain/rules.ts'
import { newStoreFields } from '../../lib/domain/store.ts'
import type { Account, CreateOptions, Till } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { testOnEach } from '../support/databases.ts'
import { newPlace, type Place } from '../support/place.ts'
import { createShop, failureOf } from '../support/till.ts'

const DAY = 86_400_000
const KEY = { idempotencyKey: 'k-1' }
const SECRET = 'whs_do_not_show_this'

type Create = (
  shop: Shop,
  change?: object,
  options?: CreateOptions,
) => Promise<{ readonly created_at: string; readonly added?: string }>

const createProject: Create = ({ till, account }, change, options = KEY) => {
  const config = { webhook_secret: SECRET, custom_settings: { z: 1, a: [2, null] } }
  const game = { name: 'Second', bundle_id: 'com.example.second', platform: 'web', config }
  return till.projects.create(account, { ...game, ...change }, options)
}
const createPayment: Create = ({ till, account, project_id }, change, options = KEY) => {
  const store_config = { provider: 'p', api_key: SECRET, webhook_secret: `${SECRET}2` }
  const store = { project_id, store_type: 'custom' as const, store_config }
  return till.stores.create(account, { ...store, ...change }, options)
}
const createItem: Create = ({ till, account }, change, options = KEY) => {
  const item = { store_id: 'main', name: 'silver', display_name: 'Silver', price: '99' }
  const meta = { z: 1, a: { '1': 'x', b: -0.5 } }
  return till.items.create(account, { ...item, type: 'consumable', meta, ...change }, options)
}

/** The operations that take an idempotency key, and a change that makes their input another one. */
const CREATIONS: readonly [name: string, Create, another: object][] = [
  ['projects.create', createProject, { config: { webhook_secret: 'another' } }],
  ['stores.create', createPayment, { store_id: 'another' }],
  [
    'stores.create of a store_id',
    ({ till, account, project_id }, change, options = KEY) => {
      const store = { project_id, store_id: 'side', store_type: 'web' as const }
      return till.stores.create(account, { ...store, ...change }, options)
    },
    { store_id: 'another' },
  ],
  ['items.create', createItem, { name: 'bronze' }],
]

describe('a repeated call', () => {
  for (const [name, create, another] of CREATIONS) {
    testOnEach(`gets the first answer, and changes nothing: ${name}`, async (t) => {
      const place = newPlace(t)
      const shop = await place.shop()
      const elsewhere = { ...shop, till: await place.till() }
      const empty = await everything(shop)
      const calls = Array.from({ length: 20 }, (_, n) => create(n % 2 === 0 ? shop : elsewhere))
      const [first, ...rest] = await Promise.all(calls)
      for (const each of rest) assert.deepEqual(each, first)
      const before = await everything(shop)
      assert.equal(before.audit.length, empty.audit.length + 1)
      assert.equal(countOf(before), countOf(empty) + 1)

      shop.clock.pass(DAY - 1)
      assert.equal(JSON.stringify(await create(shop)), JSON.stringify(first))
      assert.deepEqual(await create(elsewhere), first)
      const reused = { field: 'Idempotency-Key', code: 'reused' }
      const message = 'was used before with another request'
      const details = [{ ...reused, message }]
      await assert.rejects(create(shop, another), { code: 'invalid_request', details })
      assert.deepEqual(await everything(shop), before)
    })
  }

  for (const [name, create] of CREATIONS) {
    testOnEach(`is the same after an upgrade adds a field with a default: ${name}`, async (t) => {
      const shop = await newPlace(t).shop()
      const first = await create(shop)
      addField(t)
      assert.deepEqual(withoutAdded(await create(shop)), first)
      const another = create(shop, { added: 'sent' })
      await assert.rejects(another, { code: 'invalid_request', message: /another request/ })
    })
  }

  testOnEach('is another request with another field, value or without a field', async (t) => {
    const shop = await newPlace(t).shop()
    await createItem(shop)
    for (const change of [{ description: 'Shiny' }, { meta: { z: 2 } }, { meta: undefined }]) {
      const another = createItem(shop, change)
      await assert.rejects(another, { code: 'invalid_request', message: /another request/ })
    }
  })

  test('is refused for an unknown field that nests deeper than JSON.stringify can write', async () => {
    const shop = await createShop()
    let deep: object = {}
    for (let depth = 0; depth < 100_000; depth++) deep = { deep }
    for (const [, create] of CREATIONS) {
      const { details } = await failureOf(create(shop, { deep }))
      assert.deepEqual(
        [details.length, details[0]?.field, details[0]?.code],
        [1, 'deep', 'unknown'],
      )
    }
  })

  test('needs a key of 1 to 255 characters, and is a new call without one', async () => {
    const shop = await createShop()
    for (const idempotencyKey of ['', 'k'.repeat(256), 'a\0b', '\ud800', 1 as unknown as string]) {
      await assert.rejects(createProject(shop, {}, { idempotencyKey }), { code: 'invalid_request' })
    }
    for (const idempotencyKey of ['k', 'k'.repeat(255)]) {
      const made = await createProject(shop, {}, { idempotencyKey })
      assert.deepEqual(await createProject(shop, {}, { idempotencyKey }), made)
    }
    assert.notDeepEqual(await createProject(shop, {}, {}), await createProject(shop, {}, {}))
  })

  testOnEach('returns the first answer after a key rotates, to its account alone', async () => {
    const shop = await createShop()
    const other = await createShop(shop.till, 'Other')
    const first = (await createProject(shop)) as Awaited<ReturnType<Till['projects']['create']>>
    await shop.till.projects.rotateKey(shop.account, { id: first.id })

    assert.notDeepEqual(await createProject(other), first)
    assert.deepEqual(await createProject(shop), first)
    assert.equal(first.config.webhook_secret, SECRET)
  })
})

describe('an idempotency record', () => {
  const [OLDER, NEWER] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]

  /** A shop of a file, and the same shop with other master keys. */
  async function setUp(t: TestContext, masterKeys: Uint8Array[]) {
    const place = newPlace(t)
    const shop = await place.shop({ masterKeys })
    const on = async (masterKeys: Uint8Array[]) => ({
      ...shop,
      till: await place.till({ masterKeys }),
    })
    return { place, shop, on }
  }

  test('contains no secret, and needs its master key to be recognised', async (t) => {
    const { place, shop, on } = await setUp(t, [OLDER])
    const first = await createProject(shop)
    const payment = { idempotencyKey: 'k-2' }
    assert.deepEqual(await createPayment(shop, {}, payment), await createPayment(shop, {}, payment))
    assert.equal(place.bytes().includes(SECRET), false)

    assert.deepEqual(await createProject(await on([NEWER, OLDER])), first)
    await assert.rejects(createProject(await on([NEWER])), { code: 'invalid_request' })
    assert.equal((await collect(shop.till.projects.all(shop.account))).length, 2)
  })

  test('loses its hash when secrets are sealed, and its request is refused', async (t) => {
    const { place, shop, on } = await setUp(t, [])
    const first = await createPayment(shop)
    const plain = await fingerprintIn(place, shop.account)
    assert.ok(place.bytes().includes(plain))
    const seal = async ({ till }: Shop) => (await till.operator.sealSecrets()).idempotency_records

    const sealed = await on([OLDER])
    assert.deepEqual(await createPayment(sealed), first)
    assert.deepEqual([await seal(sealed), await seal(sealed)], [1, 0])
    assert.equal(place.bytes().includes(plain), false)
    await assert.rejects(createPayment(sealed), { code: 'invalid_request' })
    const both = await on([NEWER, OLDER])
    const newer = { idempotencyKey: 'of the newer key' }
    const payment = await createPayment(both, { store_id: 'of-newer' }, newer)
    assert.equal(await seal(both), 0)
    assert.deepEqual(await createPayment(both, { store_id: 'of-newer' }, newer), payment)
  })
})

/** Gives the inputs of all records a new optional field, as a later version may. */
function addField(t: TestContext): void {
  const { web, custom } = newStoreFields
  for (const fields of [newItemInput, newProjectFields, web, custom] as Record<string, unknown>[]) {
    fields.added = optional(text(0, 9), () => '')
    t.after(() => void delete fields.added)
  }
}

function withoutAdded(record: { readonly added?: string }): object {
  const { added, ...rest } = record
  assert.equal(added, '')
  return rest
}

type Shop = Awaited<ReturnType<typeof createShop>>

/** The hash of the request, as the database stores it. */
async function fingerprintIn(place: Place, { account_id }: Account): Promise<string> {
  const storage = await place.storage()
  const idempotency = await storage.findIdempotencyRecord(account_id, KEY.idempotencyKey)
  return idempotency?.fingerprint ?? assert.fail('there is no idempotency record')
}

/** All records of an account, and its audit log. */
async function everything({ till, account }: Shop) {
  const projects = await collect(till.projects.all(account))
  const lists = projects.map(({ id }) => collect(till.stores.all(account, { project_id: id })))
  const stores = (await Promise.all(lists)).flat()
  const items = await Promise.all(
    stores.map(({ store_id }) => till.items.list(account, { store_id })),
  )
  const { entries: audit } = await till.operator.listAudit({ account_id: account.account_id })
  return { projects, stores, items, audit }
}

function countOf({ projects, stores, items }: Awaited<ReturnType<typeof everything>>): number {
  return projects.length + stores.length + items.flatMap((each) => each.items).length
}
