import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createDemoStores, importDemoSales } from '../../../cli/serve/demo.ts'
import { BUNDLE_ID, googlePlayReport } from '../../../cli/serve/demo-shop.ts'
import { serveConsole } from './browser.ts'

/** A place in the console, its title, and a text that appears when it is loaded. */
export interface ShopPage {
  readonly link: string
  readonly title: string | RegExp
  /** A file to choose on the page. */
  readonly file?: { readonly name: string; readonly mimeType: string; readonly buffer: Buffer }
  readonly ready: RegExp
}

const LONG_STORE = 'steam-europe-middle-east-and-africa-second-edition-2026'
const LONG_PROJECT =
  'Donaudampfschifffahrtsgesellschaft: The Extraordinarily Long Voyage Home, Part 2'
const LONG_ORDER = 'GPA.3345-1234-5678-90123..25/com.example.demo.bundle.starter.of.the.first.guild'
const LONG_PLAYER = 'usr_7f3b9c52-8a41-4f0e-9d77-2b6c1d5e8a90@accounts.ember-studio.example.com'

/**
 * Serves the console with the stores of the demo, and makes the difficult records of each kind: long
 * and right-to-left names, vendor ids, large amounts, purchases without users, and empty lists.
 */
export async function openShop(t: TestContext) {
  const { till, account, url } = await serveConsole(t)
  const receiver = createServer((_, answer) => answer.writeHead(204).end()).listen(0, '127.0.0.1')
  await new Promise((resolve) => receiver.once('listening', resolve))
  t.after(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const webhook_url = `http://127.0.0.1:${port}/hooks/v2/tillkit/purchases-and-refunds-of-every-store`
  const game = { name: 'Demo Game', bundle_id: BUNDLE_ID, platform: 'mobile' } as const
  const project = await till.projects.create(account, { ...game, config: { webhook_url } })
  await createDemoStores(till, account, project.id)
  await importDemoSales(till, account, Date.now())
  const { items } = await till.items.list(account, { store_id: 'demo', limit: 100 })
  const idOf = (sku: string) => items.find(({ name }) => name === sku)?.id ?? assert.fail(sku)
  await till.items.update(account, { id: idOf('gold_100'), price: '599' })
  await till.items.update(account, { id: idOf('starter_bundle'), price: '1234567890' })
  const query = { store_id: 'google-play', status: 'refunded', limit: 1 } as const
  const [refunded = assert.fail()] = (await till.purchases.list(account, query)).purchases
  await till.webhooks.test(account, project.id)

  const long = {
    name: LONG_PROJECT,
    bundle_id: `com.${'ember'.repeat(9)}.voyage`,
    platform: 'mobile',
  } as const
  const { id: project_id } = await till.projects.create(account, long)
  const stores = [LONG_STORE, 'empty'].map((store_id) => ({ project_id, store_id }))
  for (const store of stores) await till.stores.create(account, { ...store, store_type: 'web' })
  const item = { store_id: LONG_STORE, price: '0', type: 'consumable' } as const
  const display_name = 'سيف النور الذهبي العظيم لملك الشمال مع درع الحراس القدماء وخوذة التنين'
  await till.items.create(account, {
    ...item,
    name: 'sword_of_light_and_of_the_north_2026',
    display_name,
  })
  await till.items.create(account, { ...item, name: 'w', display_name: 'W'.repeat(120) })
  await till.purchases.record(account, {
    store_id: LONG_STORE,
    transaction_id: LONG_ORDER,
    sku: 'sword_of_light_and_of_the_north_2026',
    user_id: LONG_PLAYER,
    price: '98765432101',
    currency: 'VND',
    purchased_at: new Date().toISOString(),
    metadata: { campaign: 'winter', receipt: 'MIIT'.repeat(60) },
  })
  await till.accounts.addKey(account, {
    name: 'The web shop of the publisher in Middle Europe, staging and production',
  })

  const csv = (text: string | Buffer) => {
    return { name: 'file.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
  }
  const report = Buffer.concat([...googlePlayReport({ now: Date.now(), purchases: 200 })])
  const orders = 'Order;Article;When;Amount;State\nO-1;potion;31.01.2026 10:00;4,99;paid\n'
  const spreadsheet = 'sku,display_name,price,type\nshield,Shield,250,consumable\n'
  const purchase = (store: string, id: string) =>
    `#/purchases/${encodeURIComponent(id)}?store=${store}`
  const { transaction_id } = refunded
  const pages: { readonly [name: string]: ShopPage } = {
    overview: { link: '#/overview?store=demo', title: 'Overview', ready: /Best sellers/ },
    vendor: { link: '#/overview?store=google-play&range=months', title: 'Overview', ready: /KWD/ },
    'all-stores': { link: '#/overview?store=demo&all=true', title: 'Overview', ready: /Stores/ },
    'custom-period': {
      link: '#/overview?store=demo&range=custom&from=2026-03-01&to=2026-03-31',
      title: 'Overview',
      ready: /^First day/,
    },
    'no-sales': { link: '#/overview?store=empty', title: 'Overview', ready: /no purchases yet/ },
    items: { link: '#/items?store=demo', title: 'Items', ready: /5\.99/ },
    'long-items': { link: `#/items?store=${LONG_STORE}`, title: 'Items', ready: /WWW/ },
    'no-items': { link: '#/items?store=empty', title: 'Items', ready: /no items yet/ },
    item: { link: `#/items/${idOf('gold_100')}`, title: '100 Gold', ready: /5\.99/ },
    'arabic-item': {
      link: `#/items/${idOf('lantern_night')}`,
      title: 'فانوس الليل الذهبي',
      ready: /History/,
    },
    import: { link: '#/import?store=google-play', title: 'Import purchases', ready: /Undo/ },
    skus: {
      link: '#/import?store=google-play',
      title: 'Import purchases',
      file: csv(report),
      ready: /^com\.example\.demo\.gold_pack/,
    },
    columns: {
      link: '#/import?store=demo',
      title: 'Import purchases',
      file: csv(orders),
      ready: /^Meaning/,
    },
    catalog: {
      link: '#/items?store=demo',
      title: 'Items',
      file: csv(spreadsheet),
      ready: /Shield, .*2\.50/,
    },
    'no-imports': {
      link: '#/import?store=empty',
      title: 'Import purchases',
      ready: /was imported/,
    },
    purchases: { link: '#/purchases?store=google-play', title: 'Purchases', ready: /GPA\.33/ },
    'long-purchases': { link: `#/purchases?store=${LONG_STORE}`, title: 'Purchases', ready: /GPA/ },
    'no-purchases': { link: '#/purchases?store=empty', title: 'Purchases', ready: /no purchases/ },
    purchase: { link: purchase('google-play', transaction_id), title: / · /, ready: /refunded/ },
    'long-purchase': {
      link: purchase(LONG_STORE, LONG_ORDER),
      title: / · .سيف/,
      ready: /campaign/,
    },
    player: { link: '#/player/player-1?store=demo', title: 'player-1', ready: /W-10/ },
    'long-player': {
      link: `#/player/${encodeURIComponent(LONG_PLAYER)}?store=${LONG_STORE}`,
      title: LONG_PLAYER,
      ready: /GPA/,
    },
    'no-player': { link: '#/player/nobody?store=demo', title: 'nobody', ready: /no purchases/ },
    find: { link: '#/find?q=nothing-at-all', title: 'Search', ready: /Nothing has/ },
    projects: { link: '#/projects', title: 'Projects and stores', ready: /com\.example\.demo/ },
    project: { link: `#/projects/${project.id}`, title: 'Demo Game', ready: /pk_/ },
    'long-project': { link: `#/projects/${project_id}`, title: LONG_PROJECT, ready: /pk_/ },
    store: { link: '#/stores/demo', title: 'Store demo', ready: /Return URL/ },
    'long-store': {
      link: `#/stores/${LONG_STORE}`,
      title: `Store ${LONG_STORE}`,
      ready: /Return URL/,
    },
    webhooks: {
      link: `#/webhooks?project=${project.id}&store=demo`,
      title: 'Webhooks',
      ready: /unsigned/,
    },
    'no-webhooks': { link: '#/webhooks?store=empty', title: 'Webhooks', ready: /No webhook/ },
    webhook: { link: `#/webhooks/${project.id}`, title: 'Webhook', ready: /webhook\.test/ },
    activity: { link: '#/activity?store=demo', title: 'Activity', ready: /sent a test to/ },
    keys: { link: '#/keys', title: 'Keys', ready: /this tab/ },
    unknown: { link: '#/nowhere', title: 'Not found', ready: /no such page/ },
  }
  return { till, url, account, pages }
}
