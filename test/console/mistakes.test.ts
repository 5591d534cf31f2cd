// run: early
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dialog } from 'playwright-core'
import {
  assertNoComplaints,
  type ConsoleServer,
  drop,
  goTo,
  openTab,
  personAt,
  serveConsole,
  signIn,
  skip,
} from '../support/console/browser.ts'
import { createSignal } from '../support/server.ts'
import { fileOf } from '../support/till.ts'

test('mistakes and accidents cost nobody money or work', { skip }, async (t) => {
  const server = await serveConsole(t)
  const { till, account, url } = server
  const dollars = await createStore(server, 'a-usd', 'USD')
  const yen = await createStore(server, 'b-jpy', 'JPY')
  const { page, complaints } = await openTab(t)
  const { press, pressMore, fill } = personAt(page, 'mouse')
  const chooseFile = async (name: string) => {
    const text = 'transaction_id,sku,purchased_at\nT-1,gold,2026-01-31T12:00:00Z\n'
    const file = { name, mimeType: 'text/csv', buffer: Buffer.from(text) }
    await page.getByLabel(/^Drop a CSV/).setInputFiles(file)
  }
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

  await t.test('another project leads from one record to its list', async () => {
    await goTo(page, '#/player/alice?store=a-usd', 'alice')
    await page.getByLabel('Project').selectOption('b-jpy')
    await page.getByRole('heading', { level: 1, name: 'Purchases' }).waitFor()
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

  await t.test('a save shows what another tab has changed, and keeps both', async () => {
    await goTo(page, '#/stores/a-usd', 'Store a-usd')
    await page.getByLabel('Currency', { exact: true }).waitFor() // the store is loaded
    await till.stores.update(account, { store_id: 'a-usd', status: 'disabled' })
    await fill('Currency', 'EUR')
    await press('Save')
    await page.getByText('Status was active and is now disabled').waitFor()
    assert.equal((await till.stores.get(account, 'a-usd')).store_config.currency, 'USD')
    await press('Save')
    await page.getByText('Saved', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Status').inputValue(), 'disabled')
    const store = await till.stores.get(account, 'a-usd')
    assert.deepEqual([store.status, store.store_config.currency], ['disabled', 'EUR'])
  })

  await t.test('an import ignores a dropped file, and may be stored when stopped', async () => {
    await goTo(page, '#/import?store=b-jpy', 'Import purchases')
    await chooseFile('sales.csv')
    const stored = createSignal()
    await page.getByRole('button', { name: 'Import 1 row into b-jpy' }).waitFor()
    await page.route('**/imports', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      await route.fetch()
      stored.give()
    })
    await press('Import 1 row into b-jpy')
    await stored.given
    let questions = 0
    const answer = (dialog: Dialog) => {
      questions++
      return dialog.accept()
    }
    page.on('dialog', answer)
    await drop(page, '')
    page.off('dialog', answer)
    assert.equal(questions, 0)
    await press('Stop')
    await page.getByText('It is not known whether the rows were stored').waitFor()
    await page.getByRole('row', { name: /sales\.csv/ }).waitFor()
    assert.ok(!(await page.getByText('Nothing is stored yet').isVisible()))
    await page.unroute('**/imports')
  })

  await t.test('an import of other rows than those that were checked is reported', async () => {
    await goTo(page, '#/items?store=b-jpy', 'Items')
    await goTo(page, '#/import?store=b-jpy', 'Import purchases')
    await chooseFile('other.csv')
    await page.getByRole('button', { name: 'Import 1 row into b-jpy' }).waitFor()
    await page.route('**/imports', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      const response = await route.fetch()
      const json = await response.json()
      await route.fulfill({ response, json: { ...json, rows: json.rows + 1 } })
    })
    await press('Import 1 row into b-jpy')
    await page.getByText('These are not the rows that were checked').waitFor()
    await page.unroute('**/imports')
  })

  await t.test('a list that cannot be loaded again closes no dialog', async () => {
    const row = page.getByRole('row', { name: /other\.csv/ })
    await row.getByRole('button', { name: 'Undo' }).click()
    await page.route('**/imports?*', (route) => route.abort())
    await page.getByText('The server does not answer').waitFor()
    await page.getByRole('dialog').getByText('Purchases to remove: 0.').waitFor()
    await page.unroute('**/imports?*')
    await press('Cancel')
    await press('Try again')
    await page.getByText('The server does not answer').waitFor({ state: 'detached' })
  })

  await t.test('the field of a search is emptied by a link that shows all', async () => {
    await goTo(page, '#/items?store=b-jpy', 'Items')
    await fill('Search', 'zzz')
    await page.getByRole('link', { name: 'Show all' }).click()
    await page.getByText('¥600').waitFor()
    assert.equal(await page.getByLabel('Search', { exact: true }).inputValue(), '')
  })

  await t.test('a slow answer says so, and after a 429 how many seconds are left', async () => {
    const headers = { 'retry-after': '40' }
    await page.route('**/items?*', (route) => route.fulfill({ status: 429, headers }))
    await goTo(page, '#/items?store=a-usd', 'Items')
    await page.getByText(/Too many requests\. The next attempt is in (4|3)\d s\./).waitFor()
    await page.unroute('**/items?*')
    const released = createSignal()
    await page.route('**/purchases?*', async (route) => {
      await released.given
      await route.continue()
    })
    await goTo(page, '#/purchases?store=a-usd', 'Purchases')
    await page.locator('.slow').waitFor()
    released.give()
    await page.locator('.slow').waitFor({ state: 'detached' })
    await page.unroute('**/purchases?*')
  })

  await t.test('many currencies and an ancient purchase do not hold up the overview', async () => {
    const days = ['1000-01-01', new Date().toISOString().slice(0, 10)]
    const lines = Array.from({ length: 60 }, (_, i) => {
      const currency = `X${String.fromCharCode(65 + (i % 26), 65 + Math.floor(i / 26))}`
      return `C-${i},gold,${days[i % 2]}T00:00:00Z,1,${currency}\n`
    })
    // The highest revenue is before the drawn periods.
    for (const [i, price] of [999, 5].entries())
      lines.push(`H-${i},gold,${days[i]}T00:00:00Z,${price},XAA\n`)
    const text = `transaction_id,sku,purchased_at,price,currency\n${lines.join('')}`
    await till.purchases.import(account, { store_id: 'b-jpy', file: fileOf(text) })
    await page.mouse.move(0, 0) // over the chart, it would choose a column
    await goTo(page, '#/overview?store=b-jpy&range=all', 'Overview')
    await page.getByText('And 11 more.').waitFor()
    const chart = page.getByRole('slider', { name: 'Revenue in XAA by month' })
    assert.equal(await chart.getAttribute('max'), '119')
    await page.mouse.move(0, 0) // the chart reads the column below the pointer
    await page.getByText(/, so far: XAA.0\.05/).waitFor()
  })

  await t.test('a revoked key and a left page lose nothing that was typed', async () => {
    const released = createSignal()
    await page.route('**/users/alice', async (route) => {
      await released.given
      await route.continue()
    })
    await goTo(page, '#/player/alice?store=b-jpy', 'alice')
    await press('Export')
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
    const late = page.waitForResponse('**/users/alice')
    released.give()
    assert.equal((await late).status(), 401, 'the answer to the revoked key')
    await press('Create')
    await page.getByRole('heading', { level: 1, name: 'Sword' }).waitFor()
    assert.equal(await dialog.count(), 0)

    await fill('Description', 'Sharp')
    const left = page.waitForEvent('dialog')
    const clicked = page.getByRole('link', { name: 'Overview' }).click()
    await (await left).dismiss()
    await clicked
    await page.getByRole('heading', { level: 1, name: 'Sword' }).waitFor()
    assert.equal(await page.getByLabel('Description').inputValue(), 'Sharp')
    page.once('dialog', (dialog) => void dialog.dismiss())
    await drop(page, 'transaction_id,sku,purchased_at\n')
    page.once('dialog', (dialog) => void dialog.accept())
    await goTo(page, '#/import', 'Import purchases')
    await page.getByText('Drop a CSV file here, or choose one', { exact: true }).waitFor()
    assert.equal(await page.getByText('dropped.csv').count(), 0)
    await goTo(page, '#/%', 'Not found')
  })

  await t.test('Escape does not close the only view of a new key', async () => {
    await goTo(page, '#/keys', 'Keys')
    await press('New key')
    await press('Create')
    const dialog = page.getByRole('dialog', { name: 'The new account key' })
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    // The browser closes it at the second Escape, and the console opens it again.
    await press('I have stored it')
    await dialog.waitFor({ state: 'detached' })
  })

  await t.test('after sign-out, neither the URL nor the tab names the player', async () => {
    await goTo(page, '#/player/alice?store=a-usd', 'alice')
    await pressMore('Erase')
    await page.getByRole('dialog').getByText('In all stores of a-usd').waitFor()
    await press('Cancel')
    await press('Sign out')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    assert.match(page.url(), /console#\/$/)
    assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage).includes('ak_')), false)
  })

  assertNoComplaints(complaints)
})

async function createStore({ till, account }: ConsoleServer, store_id: string, currency: string) {
  const project = { name: store_id, bundle_id: `com.${store_id}`, platform: 'mobile' } as const
  const { id: project_id } = await till.projects.create(account, project)
  const store = { project_id, store_id, store_type: 'web', store_config: { currency } } as const
  await till.stores.create(account, store)
  const item = { store_id, name: 'gold', price: '500', type: 'consumable' } as const
  const { id } = await till.items.create(account, { ...item, display_name: 'Gold' })
  return { project_id, item_id: id }
}
