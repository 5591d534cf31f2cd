import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileOf } from '../support/till.ts'
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

  await t.test('a second click after a lost answer creates nothing twice', async () => {
    await goTo(page, '#/projects', 'Projects and stores')
    await press('New project')
    await fill('Name', 'Once')
    await fill('Bundle id', 'com.once')
    await page.route('**/manage/v1/projects', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await press('Create')
    await page.getByText('The server does not answer').waitFor()
    await page.unroute('**/manage/v1/projects')
    await press('Create')
    await page.getByRole('heading', { level: 1, name: 'Once' }).waitFor()
    const { projects } = await till.projects.list(account, {})
    assert.equal(projects.filter(({ name }) => name === 'Once').length, 1)
  })

  await t.test('a later save keeps what another tab has changed', async () => {
    await goTo(page, '#/stores/a-usd', 'Store a-usd')
    await till.stores.update(account, { store_id: 'a-usd', status: 'disabled' })
    await fill('Configuration', '{"currency":"EUR"}')
    await press('Save')
    await page.getByText('Saved', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Status').inputValue(), 'disabled')
    const store = await till.stores.get(account, 'a-usd')
    assert.deepEqual([store.status, store.store_config.currency], ['disabled', 'EUR'])
  })

  await t.test('a stopped import says that it may be stored', async () => {
    await goTo(page, '#/import?store=b-jpy', 'Import purchases')
    const text = 'transaction_id,sku,purchased_at\nT-1,gold,2026-01-31T12:00:00Z\n'
    const file = { name: 'sales.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
    await page.getByLabel(/Drop a CSV/).setInputFiles(file)
    let tell = () => {}
    const stored = new Promise<void>((resolve) => {
      tell = resolve
    })
    await page.getByRole('button', { name: 'Import 1 rows into b-jpy' }).waitFor()
    await page.route('**/imports', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      await route.fetch()
      tell()
    })
    await press('Import 1 rows into b-jpy')
    await stored
    await press('Stop')
    await page.getByText('It is not known whether the rows were stored').waitFor()
    await page.getByRole('row', { name: /sales\.csv/ }).waitFor()
    assert.ok(!(await page.getByText('Nothing is stored yet').isVisible()))
    await page.unroute('**/imports')
  })

  await t.test('many currencies and an ancient purchase do not hold up the overview', async () => {
    const days = ['1000-01-01', new Date().toISOString().slice(0, 10)]
    const lines = Array.from({ length: 60 }, (_, i) => {
      const currency = `X${String.fromCharCode(65 + (i % 26), 65 + Math.floor(i / 26))}`
      return `C-${i},gold,${days[i % 2]}T00:00:00Z,1,${currency}\n`
    })
    const text = `transaction_id,sku,purchased_at,price,currency\n${lines.join('')}`
    await till.purchases.import(account, { store_id: 'b-jpy', file: fileOf(text) })
    await goTo(page, '#/overview?store=b-jpy&range=all', 'Overview')
    await page.getByText('And 11 more.').waitFor()
    await page
      .getByRole('img', { name: /in 120 periods/ })
      .first()
      .waitFor()
    assert.equal(await page.getByRole('img', { name: /Revenue in/ }).count(), 4)
  })

  await t.test('a revoked key and a left page lose nothing that was typed', async () => {
    await goTo(page, '#/items?store=b-jpy', 'Items')
    await press('New item')
    await fill('SKU', 'sword')
    await fill('Name', 'Sword')
    await fill('Price in JPY', '900')
    const other = await till.accounts.addKey(account)
    const keys = await till.accounts.listKeys(account)
    for (const { key_id } of keys) {
      if (key_id !== other.key_id) await till.accounts.revokeKey(account, key_id)
    }
    await press('Create')
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByLabel('Account key').fill(other.account_key)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    await press('Create')
    await page.getByRole('heading', { level: 1, name: 'Sword' }).waitFor()

    await fill('Description', 'Sharp')
    const left = page.waitForEvent('dialog')
    const clicked = page.getByRole('link', { name: 'Overview' }).click()
    await (await left).dismiss()
    await clicked
    await page.getByRole('heading', { level: 1, name: 'Sword' }).waitFor()
    assert.equal(await page.getByLabel('Description').inputValue(), 'Sharp')
    page.once('dialog', (dialog) => void dialog.accept())
    await goTo(page, '#/%', 'Not found')
  })

  await t.test('after sign-out, neither the URL nor the tab names the player', async () => {
    await goTo(page, '#/player/alice?store=a-usd', 'alice')
    await press('Erase')
    await page.getByRole('dialog').getByText('In all stores of a-usd').waitFor()
    await press('Cancel')
    await press('Sign out')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    assert.match(page.url(), /console#\/$/)
    assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage).includes('ak_')), false)
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
