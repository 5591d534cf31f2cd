import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test as testOnce } from 'node:test'
import {
  type Catalog,
  type CatalogRequest,
  createMemoryStorage,
  readCatalog,
  type Storage,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

async function setup() {
  const shop = await createShop()
  const { till, account, project_id } = shop
  type Stores = Catalog['stores']
  return {
    ...shop,
    exported: async () => (await collect(till.catalog.export(account, { project_id }))).join(''),
    plan: (stores: Stores, more: Partial<CatalogRequest> = {}) =>
      till.catalog.plan(account, { project_id, catalog: { stores }, ...more }),
    apply: (stores: Stores, more: Partial<CatalogRequest> = {}) =>
      till.catalog.apply(account, { project_id, catalog: { stores }, ...more }),
  }
}

const GEM = { name: 'gem', display_name: 'Gem', price: '99', type: 'consumable' as const }
const main = (...items: { name: string }[]) => [{ store_id: 'main', items }]

test('apply makes the changes of the plan, and a second one has nothing to do', async () => {
  const { till, account, plan, apply } = await setup()
  const stores = main({ name: 'gold', price: '599' } as never, GEM)

  const planned = await plan(stores)
  const { entries } = await till.operator.listAudit({})
  assert.deepEqual(await apply(stores), planned)

  const [update, create] = planned.changes
  assert.deepEqual(update?.fields, { price: { from: 499, to: 599 } })
  assert.deepEqual(create?.item, { ...GEM, price: 99 })
  const items = (await till.items.list(account, { store_id: 'main' })).items
  assert.deepEqual(
    items.map(({ name, price, description }) => [name, price, description]),
    [
      ['gold', 599, ''],
      ['gem', 99, ''],
    ],
  )
  const added = (await till.operator.listAudit({})).entries.slice(entries.length)
  const price = { old: 499, new: 599 }
  const goldData = { name: 'gold', version: 2, changed: ['price'], price }
  assert.deepEqual(
    added.map(({ action, subject, data }) => [action, subject, data]),
    [
      ['item.update', items[0]?.id, goldData],
      ['item.create', items[1]?.id, undefined],
      ['catalog.apply', planned.project_id, { created: 1, updated: 1, archived: 0, restored: 0 }],
    ],
  )
  assert.deepEqual((await apply(stores)).changes, [])
  assert.equal((await till.operator.listAudit({})).entries.length, entries.length + 3)
})

testOnce('an exported catalog has no differences, also when it is read byte by byte', async () => {
  const { till, account, exported } = await setup()
  const text = await exported()

  const whole = await till.catalog.plan(account, await readCatalog(fileOf(text)))
  const bytes = [...Buffer.from(text)].map((byte) => Buffer.from([byte]))

  assert.deepEqual([whole.changes, whole.unchanged], [[], 1])
  assert.deepEqual(await till.catalog.plan(account, await readCatalog(bytes)), whole)
})

test('a missing item stays unless archive_missing is set, and a file restores it', async () => {
  const { plan, apply, exported } = await setup()

  assert.equal((await apply(main(GEM))).missing, 1)
  const archived = await apply(main(GEM), { archive_missing: true })
  const [change] = archived.changes
  assert.deepEqual([archived.archived, change?.name, change?.fields], [1, 'gold', undefined])
  assert.match(await exported(), /"name":"gold".*"archived":true/)
  assert.equal((await plan(main(GEM), { archive_missing: true })).archived, 0)

  const { details } = await failureOf(plan(main({ name: 'gold' })))
  assert.deepEqual(details[0]?.field, '$.stores[0].items[0].name')
  assert.match(details[0]?.message ?? '', /taken by an archived item: "archived": false restores/)
  assert.equal((await apply(main({ name: 'gold', archived: false } as never))).restored, 1)
})

// A plan that kept all values of 600 such items took 900 MiB.
test('a plan keeps 1 MiB of large old values, and apply writes only the fields that change', async () => {
  const { till, account, plan, apply } = await setup()
  const meta = { text: 'x'.repeat(65_000) }
  const names = Array.from({ length: 18 }, (_, i) => `large_${i}`)
  for (const name of names) {
    await till.items.create(account, { ...GEM, name, store_id: 'main', meta })
  }
  const config = { note: 'x' }
  await till.stores.update(account, { store_id: 'main', store_config: config })
  const listed = names.map((name, i) =>
    i === 0 ? { name, price: '5' } : { name, price: '5', metadata: {} },
  )
  const stores = [{ store_id: 'main', is_sandbox: true, items: listed }]

  const { changes } = await plan(stores, { archive_missing: true })
  const ofItems = changes.filter(({ action, kind }) => kind === 'item' && action === 'update')
  const isOld = ofItems.map(({ fields, is_shortened }) => [
    fields?.price?.from,
    'from' in (fields?.metadata ?? {}),
    is_shortened,
  ])
  assert.deepEqual(isOld, [
    [99, false, undefined],
    ...Array(16).fill([99, true, undefined]),
    [99, false, true],
  ])

  await apply(stores, { archive_missing: true })
  const found = (await till.items.list(account, { store_id: 'main' })).items
  assert.deepEqual(
    found.map(({ name, price, display_name, metadata, version }) => {
      return { name, price, display_name, metadata, version }
    }),
    names.map((name, i) => {
      return { name, price: 5, display_name: 'Gem', metadata: i === 0 ? meta : {}, version: 2 }
    }),
  )
  const { is_sandbox, store_config, status } = await till.stores.get(account, 'main')
  assert.deepEqual([is_sandbox, store_config, status], [true, config, 'active'])
  const gold = await till.items.getByName(account, 'main', 'gold')
  assert.equal(gold.archived_at !== undefined, true)
  await apply(main({ name: 'gold', archived: false } as never))
  const { archived_at: _, ...restored } = gold
  assert.deepEqual(await till.items.get(account, gold.id), { ...restored, version: 3 })
})

test('an export replaces secrets by references', async () => {
  const { plan, apply, exported } = await setup()
  const store = (store_config: object) => [{ store_id: 'main', store_config } as never]
  const reference = { webhook_secret: { env: 'HOOK' } }

  const missing = await failureOf(plan(store(reference)))
  assert.match(missing.message, /store_config\.webhook_secret needs the variable HOOK/)
  const clear = await failureOf(plan(store({ webhook_secret: 's3cret' })))
  assert.match(clear.message, /must be a reference/)
  const applied = await apply(store(reference), { env: { HOOK: 's3cret' } })
  assert.ok(!JSON.stringify(applied).includes('s3cret'))
  assert.deepEqual((await plan(store(reference), { env: { HOOK: 's3cret' } })).changes, [])
  const unset = await plan(store(reference))
  assert.deepEqual([unset.changes, unset.unset_variables], [[], ['HOOK']])
  const text = await exported()
  assert.match(text, /"env": "MAIN_WEBHOOK_SECRET"/)
  assert.ok(!text.includes('s3cret'))
})

test('a secret of the old webhook_url is not said to stay when the file has another URL', async () => {
  const { plan, apply } = await setup()
  const env = { HOOK: 's3cret' }
  const store = (webhook_url: string) => {
    const store_config = { webhook_url, webhook_secret: { env: 'HOOK' } }
    return [{ store_id: 'main', store_config } as never]
  }
  await apply(store('https://a.example/hook'), { env })

  const refused = await failureOf(plan(store('https://b.example/hook')))
  const planned = await plan(store('https://b.example/hook'), { env })

  assert.match(refused.message, /HOOK, which is not set: a new webhook_url does not keep the old/)
  assert.deepEqual(planned.unset_variables, [])
  assert.equal(planned.changes.length, 1)
})

test('an export has the confirmed webhook_url, not the one that a session has set', async () => {
  const { till, account, project, token, exported } = await setup()
  const { id } = project
  const configOf = async () => JSON.parse(await exported()).project.config
  const session = await till.sessions.authenticate(token)
  const stranger = { webhook_url: 'https://evil.example/' }
  await till.projects.update(session, { id, config: stranger })
  assert.deepEqual(await configOf(), {})

  const config = { webhook_url: 'https://shop.example/hook', webhook_secret: 's3cret', a: 1 }
  await till.projects.update(account, { id, config })
  const confirmed = { ...config, webhook_secret: { env: 'PROJECT_WEBHOOK_SECRET' } }
  for (const sent of [stranger, {}]) {
    await till.projects.update(session, { id, config: { ...sent, a: 1 } })
    assert.deepEqual(await configOf(), confirmed)
  }
  const catalog = JSON.parse(await exported())
  const env = { PROJECT_WEBHOOK_SECRET: 's3cret' }
  await till.catalog.apply(account, { project_id: id, catalog, env })
  const { url, is_signed, unconfirmed_url } = await till.webhooks.get(account, id)
  assert.deepEqual([url, is_signed, unconfirmed_url], [config.webhook_url, true, undefined])
})

test('an export has no webhook_url of a store that a key without admin has set', async () => {
  const { till, account, exported } = await setup()
  const { account_key } = await till.accounts.addKey(account, { scopes: ['catalog'] })
  const editor = await till.accounts.authenticate(account_key)
  const configOf = async () => JSON.parse(await exported()).stores[0].store_config
  const before = await configOf()
  const planted = {
    ...before,
    webhook_enabled: true,
    webhook_url: 'https://evil.example/',
    webhook_secret: 'planted',
  }
  await till.stores.update(editor, { store_id: 'main', store_config: planted })
  assert.deepEqual(await configOf(), { ...before, webhook_enabled: true })

  const own = { ...planted, webhook_url: 'https://shop.example/hook', webhook_secret: 's3cret' }
  await till.stores.update(account, { store_id: 'main', store_config: own })
  await till.stores.update(editor, { store_id: 'main', store_config: planted })
  assert.deepEqual(await configOf(), { ...own, webhook_secret: { env: 'MAIN_WEBHOOK_SECRET' } })
})

test('a plan is refused when the catalog has changed since', async () => {
  const { till, account, apply, plan } = await setup()
  const { digest } = await plan(main(GEM))
  await till.items.create(account, { ...GEM, name: 'late', store_id: 'main' })

  assert.equal((await failureOf(apply(main(GEM), { digest } as object))).code, 'catalog_changed')
  await apply(main(GEM), { digest: (await plan(main(GEM))).digest } as object)
})

testOnce('a plan of many new items lets other work run in between', async () => {
  let calls = 0
  const now = () => {
    calls++ // the plan asks for the time of each new item
    return Date.now()
  }
  const { till, account, project_id } = await createShop({ now })
  const items = Array.from({ length: 5_000 }, (_, i) => ({ ...GEM, name: `gem_${i}` }))
  let most = 0
  let last = calls
  const turn = () => {
    most = Math.max(most, calls - last)
    last = calls
  }
  const turns = setInterval(turn, 0)

  await till.catalog.plan(account, { project_id, catalog: { stores: main(...items) } })
  turn()

  clearInterval(turns)
  assert.ok(calls >= items.length, String(calls))
  assert.ok(most < 4_000, `${most} calls in one turn`)
})

testOnce('a plan stops when its client has gone', async () => {
  const gone = new AbortController()
  let calls = 0
  const now = () => {
    calls++ // the plan asks for the time of each new item
    if (gone.signal.aborted === false && calls > 100) gone.abort()
    return Date.now()
  }
  const { till, account, project_id } = await createShop({ now })
  const items = Array.from({ length: 20_000 }, (_, i) => ({ ...GEM, name: `gem_${i}` }))
  const request = { project_id, catalog: { stores: main(...items) }, signal: gone.signal }

  await assert.rejects(till.catalog.plan(account, request), { name: 'AbortError' })

  assert.ok(calls < 5_000, String(calls))
})

test('a catalog gives its items to other stores of an existing project', async () => {
  const { till, account, project_id } = await setup()
  await till.stores.create(account, { project_id, store_id: 'side', store_type: 'web' })
  const catalog = {
    project: { id: 'prj_stage', name: 'Renamed', bundle_id: 'com.other.game' },
    stores: [{ store_id: 'stage', status: 'disabled', items: [GEM] }],
  }
  const request = { catalog, project_id, items_only: true }
  const rows: readonly (readonly [more: object, mistake: string])[] = [
    [{}, '$.stores[0].store_id unknown'],
    [{ as: { stage: 'nowhere' } }, '$.stores[0].store_id unknown'],
    [{ as: { stage: 'main', prod: 'side' } }, 'as.prod unknown'],
    [{ project_id: undefined }, 'project_id required'],
    [{ items_only: false, as: { stage: 'main' } }, 'as invalid'],
  ]
  for (const [more, mistake] of rows) {
    const { details } = await failureOf(till.catalog.plan(account, { ...request, ...more }))
    assert.deepEqual(
      details.map(({ field, code }) => `${field} ${code}`),
      [mistake],
    )
  }
})

testOnce('every error names its JSON path, and nothing changes', async () => {
  const { till, account, project, apply, exported } = await setup()
  const other = await createShop(till, 'Other')
  const before = await exported()

  const stores = [
    { store_id: 'nope', items: [{ ...GEM, price: '4.99' }] },
    ...main(
      ...[GEM, GEM, { ...GEM, name: 'a b' }, { name: 'new' }],
      { name: 'gold', type: 'subscription' } as never,
      { ...GEM, name: 'ruby', price: '4.99' } as typeof GEM,
    ),
  ]
  const { details, total } = await failureOf(apply(stores))
  assert.deepEqual(details.map(({ field, code }) => [field, code]).sort(), [
    ['$.stores[0].items[0].price', 'invalid'],
    ['$.stores[0].store_id', 'unknown'],
    ['$.stores[1].items[1].name', 'repeated'],
    ['$.stores[1].items[2].name', 'invalid'],
    ['$.stores[1].items[3].display_name', 'required'],
    ['$.stores[1].items[3].price', 'required'],
    ['$.stores[1].items[3].type', 'required'],
    ['$.stores[1].items[4].type', 'fixed'],
    ['$.stores[1].items[5].price', 'invalid'],
  ])
  assert.equal(total, 9)
  const request = { project_id: project.id, catalog: { project: { id: other.project.id } } }
  const foreign = await failureOf(till.catalog.apply(account, request))
  assert.deepEqual(foreign.details[0]?.field, '$.project.id')
  assert.match(foreign.message, /is another project's/)
  assert.equal(await exported(), before)
})

const badFiles: Record<string, RegExp> = {
  '{"stores":[{"items":[{"name":1},\n{"name":}]}]}': /^The file is not JSON(, line 2)?$/,
  '{"stores":[{"items":[{}\n{}]}]}': /^The file is not JSON, line 2$/,
  '{\n"stores":': /^The file is not JSON, line 2$/,
  '{"a": "\xff"}': /^The file is not UTF-8$/,
  [`{${' '.repeat(64 * 1024 ** 2)}}`]: /^A catalog takes at most 64 MiB$/,
}
testOnce('a bad catalog file is refused, with its line', async () => {
  for (const [text, expected] of Object.entries(badFiles)) {
    const { message } = await failureOf(readCatalog([Buffer.from(text, 'latin1')]))
    assert.match(message, expected, text.slice(0, 50))
  }
})

const many = (text: string) => Array<string>(20_000).fill(text)
const manyMistakes = {
  stores: `{"stores":[${many('{}')}]}`,
  'new stores': `{"stores":[${many('').map((_, i) => `{"store_id":"s${i}"}`)}]}`,
  items: `{"stores":[{"store_id":"main","items":[${many('1')}]}]}`,
  rows: `name,store_id\n${many('a,,\n').join('')}`,
  'rows of new stores': `name,store_id\n${many('')
    .map((_, i) => `a,s${i}\n`)
    .join('')}`,
}
testOnce('a catalog is not read on after 1,000 mistakes', async () => {
  const { plan } = await setup()
  for (const [name, file] of Object.entries(manyMistakes)) {
    const { message, total } = await failureOf(plan(undefined, { catalog: undefined, file }))
    assert.equal(message, 'The catalog has at least 1000 mistakes', name)
    assert.ok(total < 10_000, `${name}: ${total}`)
  }
})

testOnce('the items of a store that is listed several times are read once at most', async () => {
  const storage = createMemoryStorage()
  let reads = 0
  const listItems: Storage['listItems'] = (...page) => {
    reads++
    return storage.listItems(...page)
  }
  const { till, account, project_id } = await createShop({ storage: { ...storage, listItems } })
  const store_ids = ['main', 'main', 'main', 'other']
  const catalog = { stores: store_ids.map((store_id) => ({ store_id })) }
  const as = { other: 'main' }

  const repeated = await failureOf(till.catalog.plan(account, { project_id, catalog }))
  const all = { project_id, catalog, items_only: true, as }
  const led = await failureOf(till.catalog.plan(account, all))

  assert.deepEqual(
    repeated.details.map(({ code }) => code),
    ['repeated', 'repeated', 'unknown'],
  )
  assert.match(led.message, /mistakes/)
  assert.equal(reads, 2)
})

testOnce('the plans of an account are made one after the other', async () => {
  const storage = createMemoryStorage()
  const asked: string[] = []
  const findCatalogState: Storage['findCatalogState'] = (id) => {
    asked.push(id) // at the start and at the end of a plan
    return storage.findCatalogState(id)
  }
  const { till, account, project_id } = await createShop({
    storage: { ...storage, findCatalogState },
  })
  const game = { name: 'Second', bundle_id: 'com.example.second', platform: 'web' } as const
  const ids = [project_id, (await till.projects.create(account, game)).id]

  await Promise.all(ids.map((id) => till.catalog.plan(account, { project_id: id, catalog: {} })))

  assert.deepEqual(asked, [ids[0], ids[0], ids[1], ids[1]])
})

testOnce('a bad spreadsheet is refused with its lines, and a good one is applied', async () => {
  const { till, account, apply, project } = await setup()
  const read = (...lines: string[]) => readCatalog(fileOf(lines.join('\n')), { store_id: 'main' })
  const header = 'sku;display_name;price;type;metadata;Notes'
  const bad = await read(
    ...[header, 'gem;Gem;4.99;consumable;;', 'ruby;;5;gem;{};', 'gold;G;1;;;', 'gold;G;1;;;'],
    ...['a;b', 'opal;O;1;consumable;{x;'],
  )
  const good = await read(header, 'gold;Gold!;;;;x', 'gem;Gem;99;consumable;"{""a"":1}";y')

  const { details } = await failureOf(
    till.catalog.plan(account, { project_id: project.id, ...bad }),
  )
  const applied = await apply(undefined, good)

  assert.deepEqual(
    details.map(({ line, column, code }) => [line, column, code]),
    [
      [2, 'price', 'invalid'],
      [3, 'type', 'invalid'],
      [5, 'name', 'repeated'],
      [6, undefined, 'wrong_width'],
      [7, 'metadata', 'invalid'],
    ],
  )
  assert.equal(details[2]?.message, 'is listed twice: first in line 4')
  assert.deepEqual([applied.created, applied.updated, good.ignored_columns], [1, 1, ['Notes']])
})

testOnce("Google Play's product file is read unchanged", async () => {
  const { apply } = await setup()
  const play = readFileSync('test/support/services/google-play-products.csv')
  const file = await readCatalog([play], { store_id: 'main', currency: 'USD' })

  const { changes } = await apply(undefined, { ...file, type: 'consumable' })

  assert.deepEqual(
    changes.map(({ item }) => [item?.name, item?.display_name, item?.description, item?.price]),
    [
      ['gas', 'Some Gas', 'Fulfil tank; for 1/4', 5000],
      ['premium', 'Premium: Red', 'Red color, for your car', 99],
    ],
  )
})

testOnce('an unreadable Google Play price is reported with its line', async () => {
  const { plan } = await setup()
  const header =
    'Product ID,Published State,Purchase Type,Auto Translate,Locale; Title; Description,Auto Fill Prices,Price,Pricing Template ID'
  const row = (id: string, price: string) =>
    `${id},published,managed_by_android,false,en_US; T; D,false,${price},`
  const lines = [header, row('a', ''), row('b', '4999'), row('c', 'US; 4990000; DE; 3990000')]
  const options = { store_id: 'main', currency: 'USD', country: 'FR' }
  const file = await readCatalog(fileOf(lines.join('\n')), options)

  const { details } = await failureOf(plan(undefined, { ...file, type: 'consumable' }))

  assert.deepEqual(
    details.map(({ line, column, message }) => [line, column, message]),
    [
      [2, 'Price', 'is empty: a pricing template is not in the file'],
      [3, 'Price', 'has more decimals than USD'],
      [4, 'Price', 'has no price for FR'],
    ],
  )
})
