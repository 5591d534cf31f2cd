// run: early
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createDemoStores, importDemoSales } from '../../cli/serve/demo.ts'
import { BUNDLE_ID } from '../../cli/serve/demo-shop.ts'
import { formatMoney, formatMonth } from '../../console/format.ts'
import {
  assertNoComplaints,
  drop,
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
  const { use, press, pressMore, fill } = personAt(page, by)
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
    await page.getByRole('row', { name: /google-play.*ORDER-7\/1/ }).waitFor()
    await use(page.getByRole('link', { name: 'ORDER-7/2', exact: true }))
    await page.getByText('ORDER-7/2', { exact: true }).waitFor()
    await find('ORDER-8')
    await page.getByText('ORDER-8', { exact: true }).waitFor()
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
      await page.getByLabel('Currency', { exact: true }).selectOption(currency)
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
      store_config: { currency: 'USD' },
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

  await t.test('an import that added nothing leads to no empty list', async () => {
    const rows = 'transaction_id,sku,purchased_at,price,currency\n'
    const known = fileOf(`${rows}T-1,gold,2021-11-05T00:00:00Z,499,USD\n`)
    await till.purchases.import(account, { store_id: 'old', file: known, fileName: 'known.csv' })
    await goTo(page, '#/import?store=old', 'Import purchases')
    await page.getByText('known.csv').waitFor()
    assert.equal(await page.getByRole('link', { name: 'known.csv' }).count(), 0)
  })

  await t.test('the overview begins with the currency of the store, in UTC', async () => {
    const lines = ['JPY', 'JPY', 'EUR', 'JPY'].map(
      (currency, i) => `Y-${i},gold,2021-11-06T00:00:00Z,1,${currency}\n`,
    )
    const text = `transaction_id,sku,purchased_at,price,currency\n${lines.join('')}`
    await till.purchases.import(account, { store_id: 'old', file: fileOf(text) })
    await goTo(page, '#/overview?store=old&range=all', 'Overview')
    const currency = page.getByLabel('Currency', { exact: true })
    await currency.waitFor()
    assert.equal(await currency.inputValue(), 'USD')
    await page.getByText('Days, weeks and months are in UTC').waitFor()
    await till.stores.update(account, { store_id: 'old', store_config: { currency: 'GBP' } })
    await page.reload()
    await currency.waitFor()
    assert.equal(await currency.inputValue(), 'JPY', 'nothing was sold in GBP')
    await till.stores.update(account, { store_id: 'old', store_config: { currency: 'USD' } })
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

  await t.test(
    'an item is granted, delivered and taken back, and the page says what happens',
    async () => {
      await goTo(page, '#/player/player-3?store=demo', 'player-3')
      await page.getByRole('table', { name: 'Purchases' }).waitFor()
      await press('Grant')
      const dialog = page.getByRole('dialog')
      await dialog.getByText(/Records a gift in demo/).waitFor()
      await dialog.getByLabel('Item', { exact: true }).selectOption('Dragon Skin')
      await press('Grant the item')
      const granted = page.getByRole('link', { name: /^grant-/ })
      await use(granted)
      await page.getByText('not delivered yet').waitFor()
      // Without this mark, a reconciliation took it for a purchase that the vendor never charged.
      const query = { store_id: 'demo', user_id: 'player-3', newest_first: true }
      const { purchases } = await till.purchases.list(account, query)
      assert.equal(purchases[0]?.is_grant, true)
      await press('Deliver')
      await dialog.getByText(/Give the player 1 skin_dragon yourself/).waitFor()
      await press('Mark as delivered')
      await page.getByText('nothing to deliver').waitFor()
      await pressMore('Mark as refunded')
      await dialog.getByText('The player no longer owns skin_dragon').waitFor()
      await use(dialog.getByRole('button', { name: 'Mark as refunded' }))
      await page.getByText('refunded', { exact: true }).first().waitFor()
    },
  )

  await t.test(
    'the page of a player has the purchases of all stores, and what was spent',
    async () => {
      await till.items.create(account, {
        store_id: 'tests',
        name: 'gold',
        display_name: 'Gold of the tests',
        price: '1',
        type: 'consumable',
      })
      for (const [store_id, price] of [
        ['tests', '300'],
        ['demo', '499'],
      ] as const) {
        const sale = {
          store_id,
          price,
          currency: 'USD',
          user_id: 'both',
          transaction_id: `B-${store_id}`,
        }
        const sku = store_id === 'demo' ? 'gold_100' : 'gold'
        await till.purchases.record(account, { ...sale, sku, purchased_at: '2026-01-31T00:00:00Z' })
      }
      await goTo(page, '#/player/both?store=demo', 'both')
      // It added the test purchase of a sandbox to what the player has spent.
      await page.getByText('$4.99').first().waitFor()
      await page.getByText('1 purchase, $3.00').waitFor()
      assert.doesNotMatch((await page.textContent('main')) ?? '', /\$7\.99/)
      const owned = page.getByRole('table', { name: 'Owned items' })
      await owned.getByRole('row', { name: /Gold of the tests.*tests/ }).waitFor()
      await owned.getByRole('row', { name: /100 Gold.*demo/ }).waitFor()
      await page.getByRole('row', { name: /B-tests/ }).waitFor()
      await page.getByRole('row', { name: /B-demo/ }).waitFor()
    },
  )

  await t.test('all purchases of a player are counted: it stopped at 1,000', async () => {
    const at = '2026-01-31T00:00:00Z'
    const rows = Array.from({ length: 1_001 }, (_, i) => `BUSY-${i},potion,${at},busy,99,USD\n`)
    const header = 'transaction_id,sku,purchased_at,user_id,price,currency\n'
    const file = fileOf(header, ...rows)
    await till.purchases.import(account, { store_id: 'demo', file })
    await goTo(page, '#/player/busy?store=demo', 'busy')
    await page.getByText('$990.99').waitFor()
    await page.getByText('1,001', { exact: true }).first().waitFor()
  })

  await t.test(
    'a new store of Google Play has a platform and a bundle id with reasons',
    async () => {
      await goTo(page, `#/projects/${project.id}`, 'Demo Game')
      assert.doesNotMatch(
        (await page.textContent('main')) ?? '',
        /adroid|Test mode|Sandbox enabled/,
      )
      await press('New store')
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Type').selectOption('iap')
      await dialog.getByText(/may have the sales of several apps/).waitFor()
      await fill('Store id', `play-${by}`)
      await fill('Bundle id', 'com.other.game')
      await press('Create')
      await page.getByRole('heading', { level: 1, name: `Store play-${by}` }).waitFor()
      const { store_config } = await till.stores.get(account, `play-${by}`)
      assert.deepEqual(store_config, { platform: 'google_play', bundle_id: 'com.other.game' })
    },
  )

  await t.test('a key is renamed, replaced and revoked by its name', async () => {
    await goTo(page, '#/keys', 'Keys')
    await page.getByRole('row', { name: /First key.*this tab/ }).waitFor()
    const row = page.getByRole('row', { name: /Desk key/ })
    await pressMore('Change', row)
    await fill('Name', 'Web shop')
    await press('Save')
    const renamed = page.getByRole('row', { name: /Web shop/ })
    await pressMore('Replace', renamed)
    await press('Create a new key')
    await page.getByRole('dialog').getByText(/^ak_/).waitFor()
    await press('I have stored it')
    await renamed.nth(1).waitFor()
    await pressMore('Revoke', renamed.first())
    await page.getByRole('dialog', { name: 'Revoke Web shop?' }).waitFor()
    await page.keyboard.press('Escape')
  })

  await t.test('a price is edited in the list: Enter saves, Escape gives up', async () => {
    const { items } = await till.items.list(account, { store_id: 'old' })
    const { id } = items[0] ?? assert.fail()
    await goTo(page, '#/items?store=old', 'Items')
    const row = page.getByRole('row', { name: /^Gold/ })
    await use(row.getByRole('button', { name: '$0.01' }))
    await page.getByLabel('Price in USD').and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Escape')
    const price = row.getByRole('button', { name: '$0.01' })
    await price.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await fill('Price in USD', '2.5x')
    await page.keyboard.press('Enter')
    await page.getByText('Price in USD must be an amount like 4.99').waitFor()
    await fill('Price in USD', '2.50')
    // A conflict loses nothing.
    await till.items.update(account, { id, price: '300' })
    await page.keyboard.press('Enter')
    await page.getByText('Price in USD was 0.01 and is now 3.00').waitFor()
    assert.equal(await page.getByLabel('Price in USD').inputValue(), '2.50')
    await press('Save')
    await row.getByRole('button', { name: '$2.50' }).waitFor()
    assert.equal((await till.items.get(account, id)).price, 250)
    await pressMore('Archive', row)
    await use(page.getByRole('dialog').getByRole('button', { name: 'Archive' }))
    await row.waitFor({ state: 'detached' })
    await till.items.restore(account, id)
  })

  await t.test('a catalog file is planned and applied on the page of items', async () => {
    const csv = 'sku,display_name,price,type\ngold,Gold,350,\nshield,Shield,250,\n'
    await goTo(page, '#/items?store=demo', 'Items')
    await goTo(page, '#/items?store=old', 'Items')
    await page.getByText('$2.50').waitFor()
    if (by === 'mouse') await drop(page, csv)
    else await page.getByLabel('Catalog file').setInputFiles(fileNamed('items.csv', csv))
    await page.getByText(/Line 3, type: is required/).waitFor()
    await page.getByLabel('New items without a type are').selectOption('consumable')
    const changes = page.getByRole('table', { name: 'Changes' })
    await changes.getByRole('row', { name: /gold *Price: \$2\.50 → \$3\.50 *update/ }).waitFor()
    await changes
      .getByRole('row', { name: /shield *Shield, \$2\.50, consumable *create/ })
      .waitFor()
    // A change since the plan is shown before anything is stored.
    const { items } = await till.items.list(account, { store_id: 'old' })
    await till.items.update(account, { id: items[0]?.id ?? '', price: '400' })
    await press('Make these changes')
    await page.getByText('The catalog changed since the plan was made').first().waitFor()
    await changes.getByRole('row', { name: /gold *Price: \$4\.00 → \$3\.50 *update/ }).waitFor()
    await press('Make these changes')
    await page.getByRole('row', { name: /^Shield.*\$2\.50/ }).waitFor()
    await page.getByRole('row', { name: /^Gold.*\$3\.50/ }).waitFor()
    if (by === 'mouse')
      await drop(page, '{"stores":[{"store_id":"old","items":[{"name":"gold"}]}]}')
    else await page.getByLabel('Catalog file').setInputFiles(fileNamed('catalog.json', '{}'))
    await page.getByText('The file changes nothing').waitFor()
    await press('Close')
  })

  await t.test(
    'unknown SKUs lead to items, which are chosen by spelling and only suggested by title',
    async () => {
      const skus = ['a.coins,', 'a.coins,', 'a.gold,', 'a.mygold,Gold (Game)', 'a.shiny.gem,Gem']
      const sales = skus.map((sku, i) => `U-${i},2021-11-05T00:00:00Z,USD,99,${sku}\n`)
      const text = `transaction_id,purchased_at,currency,price,sku,title\n${sales.join('')}`
      const file = fileNamed('sales.csv', text)
      await goTo(page, '#/import?store=old', 'Import purchases')
      await page.getByLabel(/^Drop a CSV/).setInputFiles(file)
      const unknown = page.getByRole('table', { name: 'Unknown SKUs' })
      await unknown.getByRole('row', { name: /a\.coins *2 *\$1\.98/ }).waitFor()
      assert.equal(await unknown.getByRole('row').count(), 1 + 4)
      assert.equal(await page.getByLabel('Item for a.gold').inputValue(), 'gold')
      await page.getByLabel('Item for a.coins').selectOption('Gold')
      const test = page.getByLabel('Item for a.mygold')
      assert.equal(await test.inputValue(), '')
      await test.getByText('Is it Gold?').waitFor({ state: 'attached' })
      await test.selectOption('Leave out')
      const shiny = unknown.getByRole('row', { name: /a\.shiny\.gem/ })
      await use(shiny.getByRole('button', { name: 'Create' }))
      const proposed = ['SKU', 'Name', 'Price in USD'].map((label) =>
        page.getByLabel(label, { exact: true }).inputValue(),
      )
      assert.deepEqual(await Promise.all(proposed), ['shiny_gem', 'Gem', '0.99'])
      await use(page.getByRole('dialog').getByRole('button', { name: /^Create/ }))
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await press('Use these items and check again')
      await page.getByRole('button', { name: 'Import 4 rows into old' }).waitFor()
      await goTo(page, '#/items?store=old', 'Items')
      await goTo(page, '#/import?store=old', 'Import purchases')
      await page.getByLabel(/^Drop a CSV/).setInputFiles(file)
      await page.getByRole('button', { name: 'Import 4 rows into old' }).waitFor()
    },
  )

  await t.test('tabs share the session, and all forget the key at sign-out', async () => {
    const other = await page.context().newPage()
    await other.goto(`${url}/console#/items?store=demo`)
    await other.getByRole('heading', { level: 1, name: 'Items' }).waitFor()
    assert.doesNotMatch(await other.evaluate('JSON.stringify(localStorage)'), /ak_/)
    await other.getByRole('button', { name: 'Sign out' }).click()
    await other.getByLabel('Account key').and(other.locator(':focus')).waitFor()
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    assert.equal(await page.evaluate(`sessionStorage.getItem('tillkit.session')`), null)
    await other.reload()
    await other.getByRole('heading', { level: 1, name: 'Sign in to tillkit' }).waitFor()
    assert.equal(await other.evaluate('localStorage.length'), 0, 'no SKU map is left')
    await other.close()
  })

  assertNoComplaints(complaints)
}

function fileNamed(name: string, text: string) {
  return { name, mimeType: 'text/csv', buffer: Buffer.from(text) }
}
