// run: early
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createDemoStores, importDemoSales } from '../../cli/serve/demo.ts'
import { BUNDLE_ID } from '../../cli/serve/demo-shop.ts'
import {
  assertNoComplaints,
  goTo,
  openTab,
  serveConsole,
  signIn,
  skip,
} from '../support/console/browser.ts'

/** The folder for screenshots of all pages; none are taken without it. */
const folder = process.env.TILLKIT_SCREENSHOTS

const AXE = readFileSync('test/node_modules/axe-core/axe.min.js', 'utf8')

test('axe reports nothing on any page, no request fails, and narrow rows have two lines', {
  skip,
}, async (t) => {
  const { url, account, pages } = await start(t)
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, complaints, failures } = await openTab(t, { colorScheme })
    await page.goto(`${url}/console`)
    await page.getByLabel('Account key').waitFor()
    await assertAccessible(page, colorScheme, 'sign-in')
    await page.setViewportSize({ width: 1280, height: 900 }) // a narrow one hides the menu
    await signIn(page, url, account.account_key)
    for (const [name, { link, title, ready }] of Object.entries(pages)) {
      await goTo(page, link, title)
      await page.getByText(ready).first().waitFor({ state: 'attached' })
      await assertAccessible(page, colorScheme, name)
    }
    assertNoComplaints(complaints)
    assert.deepEqual(failures, [])
  }
})

/** The height of a row with two lines and its padding, in pixels. */
const TWO_LINES = 66

/** axe looks at one width in each colour scheme, because it takes a quarter of a second. */
const WIDTH = { light: 1280, dark: 390 }

const LOOK = `axe.run(document, { preload: false }).then(({ violations }) => ({
  violations: violations.map(({ id, nodes }) => id + ': ' + nodes[0]?.html),
  overflow: Math.max(0, document.documentElement.scrollWidth - innerWidth),
  tallRows: [...document.querySelectorAll('tbody tr')]
    .map((row) => row.clientHeight)
    .filter((height) => innerWidth <= 640 && height > ${TWO_LINES}),
}))`

async function assertAccessible(page: Page, scheme: 'light' | 'dark', name: string): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  for (const width of [390, 1280]) {
    const isTested = width === WIDTH[scheme]
    if (!isTested && !folder) continue
    await page.setViewportSize({ width, height: 900 })
    if (folder) await screenshot(page, `${name}-${width}-${scheme}`)
    if (!isTested) continue
    const expected = { violations: [], overflow: 0, tallRows: [] }
    assert.deepEqual(await page.evaluate(LOOK), expected, `${name} ${width} ${scheme}`)
  }
}

async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(folder as string, { recursive: true })
  await page.screenshot({ path: join(folder as string, `${name}.png`), fullPage: true })
}

/** The stores of the demo, with something to see on each page. */
async function start(t: TestContext) {
  const { till, account, url } = await serveConsole(t)
  const config = { webhook_url: 'http://127.0.0.1:9/hook' }
  const game = { name: 'Demo Game', bundle_id: BUNDLE_ID, platform: 'mobile', config } as const
  const project = await till.projects.create(account, game)
  await createDemoStores(till, account, project.id)
  await importDemoSales(till, account, Date.now())
  const { items } = await till.items.list(account, { store_id: 'demo', limit: 100 })
  const idOf = (sku: string) => items.find(({ name }) => name === sku)?.id ?? assert.fail(sku)
  await till.items.update(account, { id: idOf('gold_100'), price: '599' })
  const query = { store_id: 'google-play', status: 'refunded', limit: 1 } as const
  const [refunded = assert.fail()] = (await till.purchases.list(account, query)).purchases
  const { transaction_id } = refunded
  await till.webhooks.test(account, project.id)
  const purchase = `#/purchases/${encodeURIComponent(transaction_id)}`
  const pages: { [name: string]: { link: string; title: string; ready: RegExp } } = {
    overview: { link: '#/overview?store=demo', title: 'Overview', ready: /Best sellers/ },
    vendor: { link: '#/overview?store=google-play', title: 'Overview', ready: /KWD/ },
    items: { link: '#/items?store=demo', title: 'Items', ready: /\$5\.99/ },
    item: { link: `#/items/${idOf('gold_100')}`, title: '100 Gold', ready: /update: price/ },
    'arabic-item': {
      link: `#/items/${idOf('lantern_night')}`,
      title: 'فانوس الليل الذهبي',
      ready: /History/,
    },
    import: { link: '#/import?store=google-play', title: 'Import purchases', ready: /Undo/ },
    purchases: { link: '#/purchases?store=google-play', title: 'Purchases', ready: /GPA\.33/ },
    purchase: { link: `${purchase}?store=google-play`, title: transaction_id, ready: /added/ },
    'one-player': { link: '#/player/player-1?store=demo', title: 'player-1', ready: /W-10/ },
    projects: { link: '#/projects', title: 'Projects and stores', ready: /com\.example\.demo/ },
    project: { link: `#/projects/${project.id}`, title: 'Demo Game', ready: /pk_/ },
    store: { link: '#/stores/demo', title: 'Store demo', ready: /Return URL/ },
    webhooks: { link: '#/webhooks', title: 'Webhooks', ready: /unsigned/ },
    webhook: { link: `#/webhooks/${project.id}`, title: 'Webhook', ready: /webhook\.test/ },
    activity: { link: '#/activity', title: 'Activity', ready: /sent a test to/ },
    keys: { link: '#/keys', title: 'Keys', ready: /this tab/ },
    unknown: { link: '#/nowhere', title: 'Not found', ready: /no such page/ },
  }
  return { url, account, pages }
}
