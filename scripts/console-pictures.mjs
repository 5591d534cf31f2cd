// Writes the six pictures of docs/console.md into docs/images/console.
// Serves the built console with the stores of the demo: run `npm run build` first.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createDemoStores, importDemoSales } from '../dist/cli/demo.js'
import { BUNDLE_ID } from '../dist/cli/demo-shop.js'
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
const shop = await createShop(`http://127.0.0.1:${receiver.address().port}/hook`)
const webhooks = startWebhooks(till, { allowPrivate: true })
const server = await serve(till, { port: 0, console: true })
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox'],
})

/** Each picture with its width in pixels, its place, and a text that appears when it is loaded. */
const pictures = {
  overview: [1280, 'overview?store=google-play&range=months', 'Best sellers'],
  'overview-phone': [390, 'overview?store=google-play&range=months', 'Best sellers'],
  purchases: [1280, 'purchases?store=google-play', '100 Gold'],
  purchase: [
    1280,
    `purchases/${encodeURIComponent(shop.refunded)}?store=google-play`,
    'refunds.csv',
  ],
  'player-phone': [390, 'player/player-3?store=demo', 'Refunded'],
  webhook: [1280, `webhooks/${shop.project_id}`, 'webhook.test'],
}
try {
  for (const [name, picture] of Object.entries(pictures)) await takePicture(name, ...picture)
} finally {
  await browser.close()
  receiver.close()
  await Promise.all([server.stop(), webhooks.close()])
  await till.close()
}

async function takePicture(name, width, link, text) {
  const options = { colorScheme: scheme, locale: 'en-US', timezoneId: 'Europe/Berlin' }
  const viewport = { width, height: width === 390 ? 844 : 800 }
  const page = await browser.newPage({ ...options, viewport })
  await page.goto(`${server.url}/console`)
  await page.getByLabel('Account key').fill(account_key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.evaluate((link) => {
    location.hash = `#/${link}`
  }, link)
  await page.getByText(text).first().waitFor()
  await page.waitForTimeout(300)
  const picture = await page.screenshot()
  writeFileSync(join(output, `${name}.webp`), await toWebp(page, picture))
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

/** The stores of the demo, a sandbox, refunds by a file of ids, a changed price and a webhook. */
async function createShop(webhook_url) {
  const config = { webhook_url, webhook_secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0' }
  const game = { name: 'Demo Game', bundle_id: BUNDLE_ID, platform: 'mobile', config }
  const { id: project_id } = await till.projects.create(account, game)
  await createDemoStores(till, account, project_id)
  const sandbox = { project_id, store_id: 'test', store_type: 'web', is_sandbox: true }
  await till.stores.create(account, sandbox)
  await importDemoSales(till, account, Date.now())
  const query = { store_id: 'google-play', status: 'purchased', limit: 4 }
  const { purchases } = await till.purchases.list(account, query)
  const refunds = purchases.map(({ transaction_id }) => `${transaction_id},refunded\n`)
  await till.purchases.import(account, {
    store_id: 'google-play',
    file: [Buffer.from(`transaction_id,status\n${refunds.join('')}`)],
    fileName: 'refunds.csv',
    refundsOnly: true,
  })
  const { items } = await till.items.list(account, { store_id: 'demo', limit: 1 })
  const item_id = items[0].id
  await till.items.update(account, { id: item_id, price: '599' })
  await till.webhooks.test(account, project_id)
  return { project_id, item_id, refunded: purchases[0].transaction_id }
}
