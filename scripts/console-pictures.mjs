// Writes a picture of each page of the console at 1280 and 390 pixels into docs/images/console.
// Serves the built console with a shop of made-up sales: run `npm run build` first.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { serve, startWebhooks } from '../dist/http/index.js'
import { createMemoryStorage, createTill } from '../dist/lib/index.js'
import { chromium } from '../test/node_modules/playwright-core/index.mjs'

const folder = 'docs/images/console'
const scheme = process.argv[2] === 'dark' ? 'dark' : 'light'
const output = process.argv[3] ?? folder
mkdirSync(output, { recursive: true })

const till = createTill({ storage: createMemoryStorage() })
const { account_key, ...account } = await till.accounts.create({ name: 'Ember Studio' })
const receiver = createServer((_, answer) => answer.writeHead(204).end()).listen(0, '127.0.0.1')
await new Promise((resolve) => receiver.once('listening', resolve))
const { project_id, item_id } = await createShop(`http://127.0.0.1:${receiver.address().port}/hook`)
const webhooks = startWebhooks(till, { allowPrivate: true })
const server = await serve(till, { port: 0, console: true })
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox'],
})

const pages = {
  overview: ['overview', 'Best sellers'],
  purchases: ['purchases', 'Export as CSV'],
  purchase: ['purchases/T-1003', 'refunds.csv'],
  items: ['items', 'Gem pack'],
  item: [`items/${item_id}`, 'History'],
  import: ['import', 'refunds.csv'],
  player: ['player/player-7', 'Owns in'],
  projects: ['projects', 'com.ember.quest'],
  project: [`projects/${project_id}`, 'Edit'],
  store: ['stores/main', 'Edit'],
  webhooks: ['webhooks', '/hook'],
  webhook: [`webhooks/${project_id}`, 'webhook.test'],
  activity: ['activity', 'webhooks.test'],
  keys: ['keys', 'this tab'],
}
try {
  for (const width of [1280, 390]) await takePictures(width)
} finally {
  await browser.close()
  receiver.close()
  await Promise.all([server.stop(), webhooks.close()])
  await till.close()
}

async function takePictures(width) {
  const viewport = { width, height: width === 390 ? 844 : 800 }
  const options = { viewport, colorScheme: scheme, locale: 'en-US', timezoneId: 'Europe/Berlin' }
  const page = await browser.newPage(options)
  await page.goto(`${server.url}/console`)
  await page.getByLabel('Account key').fill(account_key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  for (const [name, [link, text]] of Object.entries(pages)) {
    await page.evaluate((link) => {
      location.hash = `#/${link}`
    }, link)
    await page.getByText(text).first().waitFor()
    await page.waitForTimeout(300)
    const picture = await page.screenshot()
    writeFileSync(join(output, `${name}-${width}.webp`), await toWebp(page, picture))
  }
  await page.close()
}

/** Chromium writes WebP, which is a quarter of the size of PNG. */
async function toWebp(page, picture) {
  const blank = await page.context().browser().newPage()
  const url = await blank.evaluate(
    async (data) => {
      const bitmap = await createImageBitmap(await (await fetch(data)).blob())
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
      canvas.getContext('2d').drawImage(bitmap, 0, 0)
      const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.7 })
      const reader = new FileReader()
      return new Promise((resolve) => {
        reader.onload = () => resolve(reader.result)
        reader.readAsDataURL(blob)
      })
    },
    `data:image/png;base64,${picture.toString('base64')}`,
  )
  await blank.close()
  return Buffer.from(url.split(',')[1], 'base64')
}

/** A project with two live stores and a sandbox, a year of sales, refunds and a webhook. */
async function createShop(webhook_url) {
  const config = { webhook_url, webhook_secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0' }
  const project = await till.projects.create(account, {
    name: 'Ember Quest',
    bundle_id: 'com.ember.quest',
    platform: 'mobile',
    config,
  })
  const { id: project_id } = project
  for (const [store_id, is_sandbox] of [
    ['main', false],
    ['europe', false],
    ['test', true],
  ]) {
    const store = { project_id, store_id, is_sandbox, store_type: 'web' }
    await till.stores.create(account, { ...store, store_config: { currency: 'USD' } })
  }
  const goods = [
    ['gem_pack', 'Gem pack', 499],
    ['gold_100', '100 Gold', 199],
    ['season_pass', 'Season pass', 999],
    ['starter_kit', 'Starter kit', 299],
  ]
  const ids = []
  for (const [name, display_name, price] of goods) {
    const type = name === 'season_pass' ? 'subscription' : 'consumable'
    const item = { store_id: 'main', name, display_name, price: String(price), type }
    ids.push((await till.items.create(account, item)).id)
  }
  await till.items.update(account, { id: ids[0], price: '599' })
  const header = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'
  const rows = Array.from({ length: 900 }, (_, i) => {
    const [sku, , price] = goods[((i * 7) % 11) % goods.length]
    const at = new Date(Date.now() - ((i * i * 17) % 700) * 86_400_000 - i * 60_000).toISOString()
    const [amount, currency] = i % 5 === 0 ? [price - 50, 'EUR'] : [price, 'USD']
    return `T-${1000 + i},${sku},${at},player-${(i * 3) % 97},${amount},${currency},purchased\n`
  })
  await importFile('sales.csv', header + rows.join(''))
  const refunds = [3, 40, 77, 310].map((i) => `T-${1000 + i},refunded\n`)
  await importFile('refunds.csv', `transaction_id,status\n${refunds.join('')}`, {
    refundsOnly: true,
  })
  await till.webhooks.test(account, project_id)
  return { project_id, item_id: ids[0] }
}

async function importFile(fileName, text, options = {}) {
  const file = [Buffer.from(text)]
  await till.purchases.import(account, { store_id: 'main', file, fileName, ...options })
}
