// run: early
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createDemoStores, importDemoSales } from '../../cli/serve/demo.ts'
import { BUNDLE_ID } from '../../cli/serve/demo-shop.ts'
import { formatMoney, formatMonth } from '../../console/format.ts'
import {
  assertNoComplaints,
  goTo,
  openTab,
  personAt,
  serveConsole,
  signIn,
  skip,
} from '../support/console/browser.ts'
import { fileOf } from '../support/till.ts'

for (const by of ['mouse', 'keyboard'] as const) {
  test(`the realistic shop shows right answers by ${by}`, { skip }, (t) => useShop(t, by))
}

async function useShop(t: TestContext, by: 'mouse' | 'keyboard') {
  const server = await serveConsole(t)
  const { till, account, url } = server
  const game = { name: 'Demo Game', bundle_id: BUNDLE_ID, platform: 'mobile' } as const
  const project = await till.projects.create(account, game)
  await createDemoStores(till, account, project.id)
  await importDemoSales(till, account, Date.now())
  const { page, complaints } = await openTab(t)
  await signIn(page, url, account.account_key)
  const { use, press } = personAt(page, by)
  const find = async (id: string) => {
    if (by === 'mouse') await page.getByRole('searchbox', { name: /^Find/ }).click()
    else await page.keyboard.press('/')
    await page.keyboard.press('Control+A')
    await page.keyboard.type(id)
    await page.keyboard.press('Enter')
  }

  await t.test('an order id is found from any page, in all stores of the account', async () => {
    const order = { store_id: 'google-play', sku: 'potion', purchased_at: new Date().toISOString() }
    for (const part of ['ORDER-7/1', 'ORDER-7/2', 'ORDER-8']) {
      await till.purchases.record(account, { ...order, transaction_id: part })
    }
    await goTo(page, '#/items?store=demo', 'Items')
    await find('ORDER-7')
    await page.getByRole('row', { name: /ORDER-7\/1.*google-play/ }).waitFor()
    await use(page.getByRole('link', { name: 'ORDER-7/2', exact: true }))
    await page.getByRole('heading', { level: 1, name: 'ORDER-7/2' }).waitFor()
    await find('ORDER-8')
    await page.getByRole('heading', { level: 1, name: 'ORDER-8' }).waitFor()
    await find('player-3')
    await page.getByRole('heading', { level: 1, name: 'player-3' }).waitFor()
    assert.match(page.url(), /store=demo/)
    await find('nobody')
    await page.getByText('Nothing has this id').waitFor()
  })

  await t.test('best sellers are counted in all currencies, with the revenue in one', async () => {
    await goTo(page, '#/overview?store=google-play&range=all', 'Overview')
    const { items, currencies } = await till.purchases.overview(account, {
      store_id: 'google-play',
    })
    const [best = assert.fail()] = items
    const [first = assert.fail(), second = assert.fail()] = currencies
    const revenueIn = (code: string) =>
      best.currencies.find(({ currency }) => currency === code)?.revenue ?? assert.fail(code)
    const row = page.getByRole('table', { name: 'Best sellers' }).getByRole('row').nth(1)
    for (const { currency } of [first, second]) {
      await use(page.getByRole('link', { name: currency, exact: true }))
      const text = formatMoney(revenueIn(currency), currency)
      await row.getByText(text, { exact: true }).waitFor()
      assert.match(
        (await row.textContent()) ?? '',
        new RegExp(`^${best.display_name}.*${best.purchased}`),
      )
    }
  })

  await t.test('a comparison says with what, and a running period is marked', async () => {
    await goTo(page, '#/overview?store=google-play&currency=EUR', 'Overview')
    await page
      .getByText(/from the 30 days before \(€/)
      .first()
      .waitFor()
    await page.getByText(/, so far: €/).waitFor()
    await page.getByLabel('Period').selectOption('Last month')
    const [year, month] = new Date().toISOString().split('-').map(Number)
    const before = formatMonth(Date.UTC(year as number, (month as number) - 3))
    await page
      .getByText(new RegExp(`%? from ${before} \\(€`))
      .first()
      .waitFor()
    assert.equal(await page.getByText(/so far/).count(), 0)
    assert.doesNotMatch((await page.textContent('main')) ?? '', /\d{4}%/)
  })

  await t.test('all live stores are added up, without the sandboxes', async () => {
    const sandbox = { project_id: project.id, store_id: 'tests', store_type: 'web' } as const
    await till.stores.create(account, { ...sandbox, is_sandbox: true })
    await page.getByLabel('Store', { exact: true }).selectOption('All stores')
    const stores = page.getByRole('table', { name: 'Stores' })
    await stores.getByRole('row', { name: /^demo/ }).waitFor()
    await stores.getByRole('row', { name: /^google-play/ }).waitFor()
    assert.equal(await stores.getByRole('row').count(), 3)
    await use(stores.getByRole('link', { name: 'demo' }))
    await stores.waitFor({ state: 'detached' })
    const chosen = page.locator('select[name="store"] option:checked', { hasText: 'demo' })
    await chosen.waitFor({ state: 'attached' })
  })

  await t.test('after an import of old sales, the overview offers their month', async () => {
    await till.stores.create(account, {
      project_id: project.id,
      store_id: 'old',
      store_type: 'web',
    })
    const item = { store_id: 'old', name: 'gold', display_name: 'Gold', price: '1' } as const
    await till.items.create(account, { ...item, type: 'consumable' })
    const file = fileOf(
      'transaction_id,sku,purchased_at,price,currency\nT-1,gold,2021-11-05T00:00:00Z,499,USD\n',
    )
    await till.purchases.import(account, { store_id: 'old', file })
    await goTo(page, '#/overview?store=old', 'Overview')
    await use(page.getByRole('link', { name: 'Show November 2021' }))
    await page.getByText('$4.99').first().waitFor()
    assert.equal(await page.getByText('Buyers').count(), 0, 'the file has no users')
  })

  await t.test(
    'the newest import is first, and Reload and Back keep the page of a list',
    async () => {
      for (let i = 0; i < 60; i++) {
        const file = fileOf(`transaction_id,sku,purchased_at\nN-${i},gold,2021-11-05T00:00:00Z\n`)
        await till.purchases.import(account, { store_id: 'old', file, fileName: `n-${i}.csv` })
      }
      await goTo(page, '#/import?store=old', 'Import purchases')
      const first = page.getByRole('table', { name: 'Imports' }).getByRole('row').nth(1)
      await first.getByText('n-59.csv').waitFor()
      await press('Next')
      await first.getByText('n-9.csv').waitFor()
      const next = page.getByRole('button', { name: 'Next' })
      assert.equal(await next.getAttribute('aria-disabled'), 'true')
      await next.and(page.locator(':focus')).waitFor()
      await page.reload()
      await first.getByText('n-9.csv').waitFor()
      await page.goBack()
      await first.getByText('n-59.csv').waitFor()
    },
  )

  await t.test('an export that is too large says so before it starts', async () => {
    const total = { currency: 'USD', purchased: 200_001, pending: 0, refunded: 0, cancelled: 0 }
    await page.route('**/summary?*', (route) => route.fulfill({ json: { summaries: [total] } }))
    await goTo(page, '#/purchases?store=demo', 'Purchases')
    await press('Export as CSV')
    await page.getByText(/200,001 purchases, and a browser saves 200,000 at most/).waitFor()
    await page.unroute('**/summary?*')
    const download = page.waitForEvent('download')
    await press('Export as CSV')
    assert.match((await download).suggestedFilename(), /demo-purchases\.csv/)
    await page.getByText('1,000 rows').waitFor()
  })

  await t.test('the activity has sentences, and filters by record and day', async () => {
    const { items } = await till.items.list(account, { store_id: 'demo', limit: 1 })
    const [item = assert.fail()] = items
    const { account_key } = await till.accounts.addKey(account, { name: 'Desk key' })
    const caller = await till.accounts.authenticate(account_key)
    await till.items.update(caller, { id: item.id, price: '599' })
    await goTo(page, '#/activity?store=demo', 'Activity')
    await page
      .getByText('Desk key changed the price of 100 Gold from $4.99 to $5.99')
      .first()
      .waitFor()
    await use(page.getByRole('link', { name: '100 Gold', exact: true }).first())
    await page.getByRole('heading', { level: 1, name: '100 Gold' }).waitFor()
    await goTo(page, `#/activity?subject=${item.id}&day=2020-01-01`, 'Activity')
    await page.getByText('Nothing matches').waitFor()
    await goTo(page, `#/activity?subject=${item.id}`, 'Activity')
    await page.getByText(/Desk key changed/).waitFor()
    await page.getByRole('table').getByRole('row').nth(3).waitFor({ state: 'detached' })
  })

  assertNoComplaints(complaints)
}
