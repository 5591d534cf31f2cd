import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertNoComplaints,
  type ConsoleServer,
  goTo,
  launchBrowser,
  openTab,
  serveConsole,
  signIn,
  skip,
} from './support.ts'

test('mistakes and accidents cost nobody money or work', { skip }, async (t) => {
  const server = await serveConsole(t)
  const { till, account, url } = server
  const dollars = await createShop(server, 'a-usd', 'USD')
  const yen = await createShop(server, 'b-jpy', 'JPY')
  const browser = await launchBrowser(t)
  const { page, complaints } = await openTab(browser)
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  await signIn(page, url, account.account_key)

  await t.test('an address that names the wrong store shows no other store', async () => {
    await goTo(page, `#/items/${yen.item_id}`, 'Gold')
    await fill('Price in JPY', '600')
    await press('Save')
    await page.getByText('Saved as version 2').waitFor()
    assert.equal((await till.items.get(account, yen.item_id)).price, 600)
    assert.match(page.url(), /store=b-jpy/)
    await goTo(page, '#/player/alice?store=typo', 'Player')
    await page.getByText('There is no such store').waitFor()
    await goTo(page, `#/items?project=${dollars.project_id}&store=b-jpy`, 'Items')
    await page.getByText('¥600').waitFor()
    await page.getByLabel('Project').selectOption('a-usd')
    await page.getByText('$5.00').waitFor()
  })

  assertNoComplaints(complaints)
})

async function createShop({ till, account }: ConsoleServer, store_id: string, currency: string) {
  const project = { name: store_id, bundle_id: `com.${store_id}`, platform: 'mobile' } as const
  const { id: project_id } = await till.projects.create(account, project)
  const store = { project_id, store_id, store_type: 'web', store_config: { currency } } as const
  await till.stores.create(account, store)
  const item = { store_id, name: 'gold', price: '500', type: 'consumable' } as const
  const { id } = await till.items.create(account, { ...item, display_name: 'Gold' })
  return { project_id, item_id: id }
}
