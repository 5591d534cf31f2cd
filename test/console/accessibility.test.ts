// run: early
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createShop, fileOf } from '../support/till.ts'
import { assertNoComplaints, goTo, openTab, serveConsole, signIn, skip } from './support.ts'

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

/** A shop with something to see on each page. */
async function start(t: TestContext) {
  const server = await serveConsole(t)
  const { till } = server
  const { account, project, item } = await createShop(till, 'Ember Studio')
  const config = { webhook_url: 'http://127.0.0.1:9/hook' }
  await till.projects.update(account, { id: project.id, config })
  const { id } = item
  await till.items.update(account, { id, price: '599' })
  const now = new Date().toISOString()
  const row = (id: number, rest: string) => `T-${id},gold,${now},player-1,${rest}\n`
  const header = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'
  const rows = row(1, '499,USD,purchased') + row(2, '450,EUR,refunded')
  await till.purchases.import(account, { store_id: 'main', file: fileOf(header + rows) })
  await till.webhooks.test(account, project.id)
  const pages: { [name: string]: { link: string; title: string; ready: RegExp } } = {
    overview: { link: '#/overview', title: 'Overview', ready: /Best sellers/ },
    items: { link: '#/items', title: 'Items', ready: /\$5\.99/ },
    item: { link: `#/items/${id}`, title: 'Gold', ready: /update: price/ },
    import: { link: '#/import', title: 'Import purchases', ready: /Undo/ },
    purchases: { link: '#/purchases', title: 'Purchases', ready: /T-1/ },
    purchase: { link: '#/purchases/T-1', title: 'T-1', ready: /added/ },
    'one-player': { link: '#/player/player-1', title: 'player-1', ready: /T-1/ },
    projects: { link: '#/projects', title: 'Projects and stores', ready: /com\.example\.game/ },
    project: { link: `#/projects/${project.id}`, title: 'Game', ready: /pk_/ },
    store: { link: '#/stores/main', title: 'Store main', ready: /Return URL/ },
    webhooks: { link: '#/webhooks', title: 'Webhooks', ready: /unsigned/ },
    webhook: { link: `#/webhooks/${project.id}`, title: 'Webhook', ready: /webhook\.test/ },
    activity: { link: '#/activity', title: 'Activity', ready: /webhooks\.test/ },
    keys: { link: '#/keys', title: 'Keys', ready: /this tab/ },
    unknown: { link: '#/nowhere', title: 'Not found', ready: /no such page/ },
  }
  return { url: server.url, account, pages }
}
