import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ItemChange } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { describeFiles } from '../support/place.ts'
import { failureOf, fileOf, type Shop } from '../support/till.ts'

const GEM = { store_id: 'main', name: 'gem', display_name: 'Gem', price: '99' }
const TYPED = { ...GEM, type: 'consumable' } as const

await describeFiles('items', (newPlace) => {
  const namesOf = async ({ till, account }: Shop, archived?: boolean) =>
    (await collect(till.items.all(account, { store_id: 'main', archived }))).map(({ name }) => name)

  test('an update changes the given fields and counts the versions', async (t) => {
    const { till, account, item } = await newPlace(t).shop()

    const first = await till.items.update(account, { id: item.id, price: '599' })
    const second = await till.items.update(account, {
      id: item.id,
      display_name: 'Bar',
      description: 'of gold',
      meta: { rare: true },
    })

    assert.deepEqual(first, { ...item, price: 599, version: 2 })
    const texts = { display_name: 'Bar', description: 'of gold', metadata: { rare: true } }
    assert.deepEqual(second, { ...first, ...texts, version: 3 })
    assert.deepEqual(await till.items.get(account, item.id), second)
  })

  test('an update with the stored values keeps the version', async (t) => {
    const { till, account, item } = await newPlace(t).shop()
    const { id, display_name, description } = item

    const same = [
      await till.items.update(account, { id }),
      await till.items.update(account, { id, price: '00499', meta: {} }),
      await till.items.update(account, { id, display_name, description, version: 1 }),
      await till.items.restore(account, id),
    ]

    for (const each of same) assert.deepEqual(each, item)
  })

  test('an update names every bad field, and none changes the item', async (t) => {
    const { till, account, item } = await newPlace(t).shop()
    const changes: [string, object][] = [
      ['price', { price: '4.99' }],
      ['price', { price: 499 }],
      ['display_name', { display_name: '' }],
      ['description', { description: 'x'.repeat(4097) }],
      ['meta', { meta: [] }],
      ['version', { version: 0 }],
      ['name', { name: 'silver' }],
      ['type', { type: 'consumable' }],
    ]

    for (const [field, change] of changes) {
      const input = { id: item.id, ...change } as ItemChange
      const { code, details } = await failureOf(till.items.update(account, input))
      assert.deepEqual([code, details[0]?.field], ['invalid_request', field])
    }
    assert.deepEqual(await till.items.get(account, item.id), item)
  })

  test('of two updates based on one version the second is refused', async (t) => {
    const { till, account, item } = await newPlace(t).shop()
    const update = (price: string) =>
      till.items.update(account, { id: item.id, price, version: 1 }).then(
        () => 'done',
        ({ code, message }) => `${code}: ${message}`,
      )

    const outcomes = await Promise.all([update('1'), update('2')])

    assert.deepEqual(outcomes.toSorted(), [
      'done',
      'version_conflict: The item has version 2, not 1: read it again',
    ])
    assert.equal((await till.items.get(account, item.id)).version, 2)
  })

  test('a search finds a text in names and display names', async (t) => {
    const { till, account, token } = await newPlace(t).shop()
    await till.items.create(account, { ...TYPED, name: 'big_gem', display_name: 'Großer Stein' })
    const gem = await till.items.create(account, TYPED)
    await till.items.archive(account, gem.id)
    const search = async (search: string, more: object = {}) => {
      const query = { store_id: 'main', search, ...more }
      return (await till.items.list(account, query)).items.map(({ name }) => name)
    }

    assert.deepEqual(await search('G'), ['gold', 'big_gem'])
    assert.deepEqual(await search('GROß'), ['big_gem'])
    assert.deepEqual(await search('gem', { archived: true }), ['gem'])
    assert.deepEqual(await search('nothing'), [])
    const first = await till.items.list(account, { store_id: 'main', search: 'g', limit: 1 })
    assert.deepEqual(await search('g', { limit: 1, cursor: first.next }), ['big_gem'])
    const session = await till.sessions.authenticate(token, 'items:read')
    const failure = await failureOf(till.items.list(session, { store_id: 'main', search: 'g' }))
    assert.deepEqual(failure.details[0]?.field, 'search')
  })

  test('the history of an item has the old and the new price, newest first', async (t) => {
    const { till, account, item } = await newPlace(t).shop()
    const other = await till.items.create(account, TYPED)
    await till.items.update(account, { id: item.id, price: '599' })
    await till.items.update(account, { id: other.id, price: '1' })
    await till.items.archive(account, item.id)

    const { entries } = await till.items.history(account, { id: item.id })

    assert.deepEqual(
      entries.map(({ action, data }) => [action, data?.price]),
      [
        ['item.archive', undefined],
        ['item.update', { old: 499, new: 599 }],
      ],
    )
  })

  test('an archived item leaves the list and returns to its place', async (t) => {
    const shop = await newPlace(t).shop()
    const { till, account, item, clock } = shop
    await till.items.create(account, { ...GEM, type: 'consumable' })
    clock.pass(1000)

    const archived = await till.items.archive(account, item.id)
    clock.pass(1000)
    const again = await till.items.archive(account, item.id)

    assert.deepEqual(archived, { ...item, version: 2, archived_at: '2024-03-01T12:34:57.789Z' })
    assert.deepEqual(again, archived)
    assert.deepEqual(await till.items.get(account, item.id), archived)
    assert.deepEqual(await till.items.getByName(account, 'main', 'gold'), archived)
    assert.deepEqual([await namesOf(shop), await namesOf(shop, true)], [['gem'], ['gold']])

    const restored = await till.items.restore(account, item.id)

    assert.deepEqual(restored, { ...item, version: 3 })
    assert.deepEqual([await namesOf(shop), await namesOf(shop, true)], [['gold', 'gem'], []])
  })

  test('an archived item keeps its name, and the message says so', async (t) => {
    const { till, account, item } = await newPlace(t).shop()
    const fields = { ...GEM, name: 'gold', type: 'consumable' as const }
    const taken = await failureOf(till.items.create(account, fields))
    await till.items.archive(account, item.id)

    const archived = await failureOf(till.items.create(account, fields))

    assert.equal(taken.message, 'name is taken in this store')
    const message = 'name is taken by an archived item in this store: restore that item'
    assert.deepEqual(archived, { ...taken, message, details: archived.details })
    assert.equal(archived.details[0]?.code, 'taken')
  })

  test('an archived item can be changed, and imports accept its purchases', async (t) => {
    const { till, account, item } = await newPlace(t).shop()
    await till.items.archive(account, item.id)
    const csv = 'transaction_id,sku,purchased_at\nT-1,gold,2024-03-01T12:34:56Z\n'

    const changed = await till.items.update(account, { id: item.id, price: '1' })
    const { added } = await till.purchases.import(account, { store_id: 'main', file: fileOf(csv) })

    assert.deepEqual([changed.price, changed.version, added], [1, 3, 1])
    assert.notEqual(changed.archived_at, undefined)
  })
})
