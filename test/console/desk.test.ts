// run: early
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createDemoStores, importDemoSales } from '../../cli/serve/demo.ts'
import { BUNDLE_ID } from '../../cli/serve/demo-shop.ts'
import {
  assertNoComplaints,
  goTo,
  openTab,
  personAt,
  serveConsole,
  signIn,
  skip,
} from '../support/console/browser.ts'

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
  const { use } = personAt(page, by)
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

  assertNoComplaints(complaints)
}
