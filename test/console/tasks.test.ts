// run: early
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { createDemoStores } from '../../cli/serve/demo.ts'
import { BUNDLE_ID, googlePlayReport, webStoreFile } from '../../cli/serve/demo-shop.ts'
import { KEY_SCOPES } from '../../lib/domain/account.ts'
import { PRESET_TITLES, type PresetName } from '../../lib/domain/preset.ts'
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
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startReceiver } from '../support/receiver.ts'
import { soakOnly } from '../support/soak.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency\n'
const ROW = (id: string, sku = 'gold') => `${id},${sku},2026-01-31T12:00:00Z,player-1,499,USD\n`

/** A file of each vendor with one purchase of `gold`. */
const VENDOR_FILES: { readonly [N in PresetName]: readonly string[] } = {
  google_play_sales: [
    'Order Number,Order Charged Timestamp,Financial Status,SKU ID,Currency of Sale,Charged Amount',
    'GPA.1,1704110400,Charged,gold,USD,4.99',
  ],
  revenuecat_transactions: [
    'rc_original_app_user_id,store_transaction_id,product_identifier,start_time,is_sandbox,refunded_at',
    'player-1,RC-1,gold,2024-01-01 10:00:00,false,',
  ],
  stripe_payments: [
    'id,Created date (UTC),Amount,Currency,Status,sku (metadata)',
    'ch_1,2024-01-01 10:00:00,4.99,usd,Paid,gold',
  ],
  shopify_orders: [
    'Name,Financial Status,Created at,Currency,Lineitem name,Lineitem quantity,Lineitem price,Lineitem sku',
    '#1,paid,2024-01-01 10:00:00 UTC,USD,Gold,1,4.99,gold',
  ],
}

for (const by of ['mouse', 'keyboard'] as const) {
  const options = { skip: skip || (by === 'keyboard' && soakOnly) } // 20 s each
  test(`a person performs the task of each page by ${by}`, options, (t) => performTasks(t, by))
}

async function performTasks(t: TestContext, by: 'mouse' | 'keyboard') {
  const server = await serveConsole(t)
  const { page, complaints } = await openTab(t)
  const { till, account, url } = server
  const { use, press, pressMore, follow, fill } = personAt(page, by)

  await t.test(
    'sign-in refuses an unknown key, and keeps a valid one in the tab only',
    async () => {
      await page.goto(`${url}/console`)
      await fill('Account key', 'nonsense')
      await press('Sign in')
      await page.getByText('Account key begins with ak_').waitFor()
      await fill('Account key', `ak_${'x'.repeat(43)}`)
      await press('Sign in')
      await page.getByText('A valid account key is required').first().waitFor()
      await signIn(page, url, account.account_key)
      assert.deepEqual(await placesOf(page, account.account_key), ['sessionStorage'])
    },
  )

  await t.test('the keyboard reaches the content, and the menu of a narrow screen', async () => {
    await page.setViewportSize({ width: 320, height: 700 })
    await page.reload()
    const title = page.getByRole('heading', { level: 1, name: 'Overview' })
    await title.waitFor()
    await page.keyboard.press('Shift+Tab')
    await page.getByRole('button', { name: 'Menu' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Purchases' }).and(page.locator(':focus')).waitFor()
    assert.ok(!(await page.getByRole('link', { name: 'Keys' }).isVisible()))
    await page.setViewportSize({ width: 1280, height: 900 })
    await goTo(page, '#/overview', 'Overview')
  })

  await t.test('the first steps: a project, a store and an item', async () => {
    await page.getByText('There is no project yet').waitFor()
    await follow('Create a project')
    await press('New project')
    await fill('Name', 'Ember Quest')
    await fill('Bundle id', 'ember')
    await press('Create')
    await page.getByText(/^Bundle id .*reverse-domain|^Bundle id must/).waitFor()
    await fill('Bundle id', 'com.ember.quest')
    await press('Create')
    await page.getByText('The project has no store yet').waitFor()
    await press('New store')
    await fill('Store id', 'main')
    await fill('Currency', 'usd')
    await press('Create')
    await page.getByRole('heading', { name: 'Store main' }).waitFor()
    await goTo(page, '#/items', 'Items')
    await press('New item')
    await fill('SKU', 'gold 100')
    await fill('Price in USD', '4.999')
    await press('Create')
    // All mistakes at once, without a request, and the focus on the first.
    await page.getByText('Price in USD must be an amount like 4.99').waitFor()
    await page.getByText('Name must be a string of 1 to 255 characters').waitFor()
    await page.getByText('SKU must be 1 to 255 Latin letters, digits and underscores').waitFor()
    await page.getByLabel('SKU').and(page.locator(':focus')).waitFor()
    await fill('SKU', 'gold')
    await fill('Name', '100 Gold')
    await fill('Price in USD', '4.99')
    await press('Create')
    await page.getByRole('heading', { name: '100 Gold' }).waitFor()
    const { items } = await till.items.list(account, { store_id: 'main', limit: 10 })
    assert.deepEqual(
      items.map(({ name, price }) => [name, price]),
      [['gold', 499]],
    )
  })

  await t.test('a changed price appears in the history', async () => {
    await fill('Price in USD', '5.99')
    await press('Save')
    await page.getByText('Saved as version 2').waitFor()
    await row(page, 'History', /First key changed the price .*from \$4\.99 to \$5\.99/).waitFor()
  })

  await t.test('two tabs that edit one item lose nothing', async () => {
    const { items } = await till.items.list(account, { store_id: 'main', limit: 10 })
    await fill('Description', 'Shiny')
    await till.items.update(account, { id: items[0]?.id ?? '', price: '799' })
    await press('Save')
    await page.getByText('Somebody else changed this. Nothing was saved').waitFor()
    await page.getByText('Price in USD was 5.99 and is now 7.99').waitFor()
    assert.equal(await page.getByLabel('Price in USD').inputValue(), '7.99')
    assert.equal(await page.getByLabel('Description').inputValue(), 'Shiny')
    await press('Save')
    await page.getByText('Saved as version 4').waitFor()
    const [saved] = (await till.items.list(account, { store_id: 'main', limit: 10 })).items
    assert.deepEqual([saved?.price, saved?.description], [799, 'Shiny'])
  })

  await t.test('an item is archived after a question, found again and restored', async () => {
    await pressMore('Archive')
    const dialog = page.getByRole('dialog', { name: 'Archive 100 Gold?' })
    await dialog.getByText(/Clients no longer list gold/).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await pressMore('Archive')
    await use(dialog.getByRole('button', { name: 'Archive' }))
    await page.getByText('archived', { exact: true }).waitFor()
    await goTo(page, '#/items', 'Items')
    await page.getByText('This store has no items yet').waitFor()
    await page.getByLabel('State').selectOption('Archived')
    await follow('100 Gold')
    await pressMore('Restore')
    await use(page.getByRole('dialog').getByRole('button', { name: 'Restore' }))
    await page.getByText('for sale', { exact: true }).waitFor()
  })

  await t.test('a long list has pages, and a search finds an item', async () => {
    for (let i = 0; i < 60; i++) await createItem(server, `card_${i}`)
    await goTo(page, '#/items', 'Items')
    await press('Next')
    await page.getByText('Page 2').waitFor()
    await page.getByText('card_59', { exact: true }).waitFor()
    await press('Previous')
    await page.getByText('100 Gold').waitFor()
    await fill('Search', 'CARD_59')
    await page.getByRole('link', { name: 'Card_59' }).waitFor()
    await page.getByRole('table').getByRole('row').nth(2).waitFor({ state: 'detached' })
  })

  await t.test('an import checks first, names bad rows, survives a lost connection', async () => {
    await goTo(page, '#/import', 'Import purchases')
    await page.getByText('Nothing was imported yet').waitFor()
    await choose(page, 'photo.csv', '\u0000\u0001PNG')
    await page.getByText('The file has mistakes. Nothing was stored').waitFor()
    await choose(page, 'sales.csv', HEADER + ROW('T-1') + ROW('T-2').replace('499', '4.9.9'))
    await row(page, 'Mistakes', /3 *price *4\.9\.9 *must be/).waitFor()
    const download = page.waitForEvent('download')
    await press('Download the report')
    const report = readFileSync(await (await download).path(), 'utf8')
    assert.match(
      report,
      /^"line","column","code","message","row"\r\n"3","price","invalid".*"T-2,gold,/,
    )

    await choose(page, 'sales.csv', HEADER + ROW('T-1') + ROW('T-2'))
    await row(page, 'Totals of the rows in the file', /purchased *USD *2 *\$9\.98/).waitFor()
    await page.route('**/imports', (route) => route.abort())
    await press('Import 2 rows into main')
    await page.getByText('trying again is safe').waitFor()
    await page.unroute('**/imports')
    await press('Try again')
    await page.getByText('Imported 2 new purchases').waitFor()
    await row(page, 'Imports', /sales\.csv.*2 *0 *0/).waitFor()
  })

  await t.test('an import is undone after a question', async () => {
    await use(row(page, 'Imports', /sales/).getByRole('button', { name: 'Undo' }))
    await page.getByText(/Purchases to remove: 2\./).waitFor()
    await press('Undo the import')
    await page.getByText('undone', { exact: true }).waitFor()
    const { purchases } = await till.purchases.list(account, { store_id: 'main' })
    assert.equal(purchases.length, 0)
  })

  await t.test('each vendor format in the list is one that the server accepts', async () => {
    await press('Choose another file')
    await use(page.getByText('Settings for other formats'))
    for (const [preset, lines] of Object.entries(VENDOR_FILES)) {
      await page.getByLabel('Format').selectOption({ label: PRESET_TITLES[preset as PresetName] })
      await choose(page, `${preset}.csv`, lines.join('\n'))
      await press('Import 1 row into main')
      await page.getByText('Imported 1 new purchase').waitFor()
      const { imports } = await till.imports.list(account, { store_id: 'main' })
      assert.equal(imports.at(-1)?.layout, preset)
      await press('Choose another file')
    }
    await page.getByLabel('Format').selectOption({ label: PRESET_TITLES.stripe_payments })
    await choose(page, 'other.csv', HEADER + ROW('T-3'))
    await row(page, 'Mistakes', /the preset stripe_payments needs it/).waitFor()
  })

  await t.test(
    'the columns of an unknown format are proposed, changed and remembered',
    async () => {
      await page.getByLabel('Format').selectOption('Recognize it by the header')
      const sales = [
        'Order;Article;When;Buyer;Amount;State',
        'O-1;gold;31.01.2026 10:00;ann;4,99;bezahlt',
        'O-2;;31.01.2026 10:00;ann;4,99;bezahlt',
        'O-3;gold;31.01.2026 10:00;bob;4,99;zurück',
      ].join('\n')
      await choose(page, 'orders.csv', sales)
      await page.getByText('The format of this file is not known').waitFor()
      await page.getByText('4,99').first().waitFor()
      assert.equal(await page.getByLabel('Meaning of Order').inputValue(), 'transaction_id')
      await page.getByText('In which time zone are the times of When?').waitFor()
      await page.getByLabel('Meaning of Buyer').selectOption('User id')
      await page.getByLabel('Time zone').selectOption('Europe/Berlin')
      await page.getByLabel('Rows with “zurück”').selectOption('cancelled')
      await page.getByLabel('Prices', { exact: true }).selectOption('4.99')
      await press('Check with these columns')
      await row(page, 'Mistakes', /2 *Amount *4,99 *must be an amount/).waitFor()
      await page.getByLabel('Prices', { exact: true }).selectOption('4,99 and 12.500,00')
      await press('Check with these columns')
      await page.getByText('1 row passed over: 1 skipped by the layout').waitFor()
      await press('Import 2 rows into main')
      await page.getByText('Imported 2 new purchases').waitFor()
      const { purchases } = await till.purchases.list(account, { store_id: 'main', user_id: 'bob' })
      const [returned] = purchases
      assert.deepEqual(
        [returned?.status, returned?.price, returned?.purchased_at],
        ['cancelled', 499, '2026-01-31T09:00:00.000Z'],
      )
      await choose(page, 'next.csv', sales.replaceAll('O-', 'N-'))
      await page.getByText('4,99').first().waitFor()
      assert.equal(await page.getByLabel('Time zone').inputValue(), 'Europe/Berlin')
      assert.equal(await page.getByLabel('Meaning of Buyer').inputValue(), 'user_id')
    },
  )

  await t.test('two columns that both mean the SKU are named beside the columns', async () => {
    const sales = [
      'Bestellung;Produkttitel;Produkt-ID;Kaufdatum;Spieler;Betrag;Währung;Testbestellung;Zustand',
      'B-1;Gold;gold;31.01.2026 10:00;ann;4,99;EUR;nein;ok',
      'B-2;Gold;gold;31.01.2026 10:00;qa;4,99;EUR;ja;ok',
    ].join('\n')
    await choose(page, 'tests.csv', sales)
    const title = page.getByLabel('Meaning of Produkttitel')
    await title.selectOption('SKU')
    await page.getByText('Meaning of Produkttitel is SKU, and so is that of Produkt-ID').waitFor()
    await page.getByText('Meaning of Produkt-ID is SKU, and so is that of Produkttitel').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Check with these columns' }).isDisabled())
    await title.selectOption('Not stored')
  })

  await t.test('test orders are passed over, unless a person chooses otherwise', async () => {
    assert.equal(await page.getByLabel('Rows with “ok”').inputValue(), 'purchased')
    await press('Check with these columns')
    await page.getByText('1 row passed over: 1 skipped by the layout').waitFor()
    await page.getByRole('button', { name: 'Import 1 row into main' }).waitFor()
    await page.getByLabel('Rows with “ja” in Testbestellung').selectOption('are imported')
    await press('Check with these columns')
    await page.getByRole('button', { name: 'Import 2 rows into main' }).waitFor()
  })

  await t.test('a word of a status that an earlier file lacked has its choice', async () => {
    const later = [
      'Bestellung;Produkttitel;Produkt-ID;Kaufdatum;Spieler;Betrag;Währung;Testbestellung;Zustand',
      'B-3;Gold;gold;28.02.2026 10:00;ann;4,99;EUR;nein;Erstattet',
    ].join('\n')
    await choose(page, 'later.csv', later)
    assert.equal(await page.getByLabel('Rows with “Erstattet”').inputValue(), 'refunded')
  })

  await t.test(
    'the period of a file is shown, with a warning of a time in the future',
    async () => {
      const sales = [
        'X-1,gold,2026-01-31 11:00Z,ann,499,USD',
        'X-2,gold,2962-02-15 11:00Z,ann,499,USD',
      ]
      await choose(page, 'future.csv', `${HEADER}${sales.join('\n')}\n`)
      await page.getByText('the latest purchase is in the future, at 2962-02-15T11').waitFor()
      await page.getByText(/Jan 31, 2026 – Feb 15, 2962/).waitFor()
    },
  )

  await t.test('refunds only advance the statuses of stored purchases', async () => {
    await choose(page, 'later.csv', `${HEADER}O-1,gold,2026-01-31 11:00Z,ann,499,USD\n`)
    await page.getByText('1 row has a time that differs from the stored one').waitFor()
    await page.getByLabel('Refunds only').check()
    // Checks the file again, and the form is locked until then.
    await page.getByText('The format of this file is not known').waitFor()
    const refunds = 'transaction_id,status\nO-1,refunded\nO-9,refunded\n'
    await choose(page, 'refunds.csv', refunds)
    await page.getByText('1 row passed over: 1 without a stored purchase').waitFor()
    await press('Import 1 row into main')
    await page.getByText('Imported 0 new purchases').waitFor()
    await goTo(page, '#/overview', 'Overview')
    await page.keyboard.press('/')
    await page.keyboard.type('O-1')
    await page.keyboard.press('Enter')
    await page.getByText('O-1', { exact: true }).waitFor()
  })

  await t.test('a purchase has the import that added it, and those that changed it', async () => {
    await page.getByRole('listitem').getByText('Imported from orders.csv').waitFor()
    await page.getByRole('listitem').getByText('refunded from refunds.csv').waitFor()
    await use(page.getByRole('main').getByRole('link', { name: 'Purchases' }))
    await page.getByRole('heading', { level: 1, name: 'Purchases', exact: true }).waitFor()
    await row(page, 'Purchases', /O-1/).waitFor()
    await page.getByLabel('Status').selectOption('Refunded')
    const status = page.locator('select[name="status"] option:checked', { hasText: 'Refunded' })
    await status.waitFor({ state: 'attached' })
    // The rows after the header and the first go once the filter holds, which the export uses too.
    const others = row(page, 'Purchases', /./).nth(2)
    await others.waitFor({ state: 'detached' })
    await row(page, 'Purchases', /O-1/).waitFor()
    const download = page.waitForEvent('download')
    await press('Export as CSV')
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trimEnd()
      .split('\r\n')
    assert.deepEqual([lines.length, /"O-1"/.test(lines[1] ?? '')], [2, true])
  })

  await t.test('a file that is dropped on a page of a store is checked', async () => {
    const file = `${HEADER}D-1,gold,2026-01-31T12:00:00Z,ann,499,USD\n`
    await drop(page, file)
    await page.getByText('dropped.csv').waitFor()
    await page.getByText('No mistake in 1 row').waitFor()
  })

  await t.test('a report has the rows after a line of 65 MB', async (t) => {
    const path = join(temporaryFolder(t), 'long.csv')
    writeFileSync(path, `${HEADER}${'x'.repeat(65e6)}\n${ROW('L-1').replace('499', 'free')}`)
    await page.locator('input[type=file]').first().setInputFiles(path)
    await row(page, 'Mistakes', /3 *price *free *must be/).waitFor()
  })

  await t.test('a player has owned items, an export and an erasure', async () => {
    for (const transaction_id of ['P-1', 'P-2']) {
      const purchase = { store_id: 'main', sku: 'gold', user_id: 'player/1', transaction_id }
      const purchased_at = new Date().toISOString()
      await till.purchases.record(account, { ...purchase, purchased_at, price: '499' })
    }
    await page.keyboard.press('/')
    await page.keyboard.type('player/1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'player/1' }).waitFor()
    await row(page, 'Owned items', /100 Gold.*main.*2/).waitFor()
    const download = page.waitForEvent('download')
    await press('Export')
    assert.match(readFileSync(await (await download).path(), 'utf8'), /"P-2"/)
    await goTo(page, '#/overview', 'Overview')
    await page.getByText('$9.98').first().waitFor()
    const chart = page.getByRole('slider', { name: 'Revenue in USD by day' })
    await page.getByText(/, so far: \$9\.98/).waitFor()
    await chart.focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByText(/^\w+ \d+: \$0\.00/).waitFor()
    await row(page, 'Best sellers', /100 Gold.*2.*\$9\.98/).waitFor()
    await page.getByText('Up from the 30 days before ($0.00)').first().waitFor()
    await page.getByLabel('Period', { exact: true }).selectOption('Custom…')
    await page.getByLabel('Last day (UTC)').waitFor()
    assert.match(page.url(), /range=custom/)
    await goTo(page, '#/player/player%2F1', 'player/1')
    await pressMore('Erase')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('User id').fill('player')
    await use(dialog.getByRole('button', { name: 'Erase' }))
    await page.getByText('User id must be player/1').waitFor()
    await dialog.getByLabel('User id').fill('player/1')
    await use(dialog.getByRole('button', { name: 'Erase' }))
    await page.getByText('Erased 2 purchases').waitFor()
    await page.getByText('The player has no purchases in this project').waitFor()
  })

  await t.test('a webhook with a secret is set, tested, paused and replayed', async (t) => {
    const receiver = await startReceiver(t)
    receiver.answer = (response) => response.writeHead(410).end('No more, thank you')
    await goTo(page, '#/webhooks', 'Webhooks')
    await press('New webhook')
    await fill('URL', 'ftp://shop.example')
    await press('Create the webhook')
    await page.getByText(/^URL must be an http or https URL/).waitFor()
    await fill('URL', receiver.url.replace('http:', 'HTTP:'))
    await page.getByRole('dialog').getByText(`Messages go to ${receiver.url}/`).waitFor()
    await press('Create the webhook')
    const secret = await page
      .getByRole('dialog')
      .getByText(/^whsec_/)
      .textContent()
    await press('I have stored it')
    await page.getByRole('heading', { level: 1, name: 'Webhook' }).waitFor()
    assert.ok(!(await page.content()).includes(secret ?? ''))
    const start = Date.now()
    await press('Send a test')
    await page
      .getByRole('alert')
      .getByText(/The test failed\. The receiver answered 410 after/)
      .waitFor()
    assert.ok(Date.now() - start < 5_000, 'two seconds on an idle machine')
    await page.getByText('disabled', { exact: true }).waitFor()
    const failed = page.getByRole('row', { name: /410/ }).first()
    await failed.getByText('Show').click()
    await failed.getByText('No more, thank you').waitFor()
    await failed.getByText(/POST .*"type": "webhook\.test".*"project_id": "prj_/s).waitFor()
    receiver.answer = (response) => response.writeHead(204).end()
    await press('Resume')
    await page.getByText('delivered', { exact: true }).first().waitFor()
    const before = receiver.received.length
    await press('Resend') // of the message whose details are open
    await eventuallyHolds(() => assert.ok(receiver.received.length > before))
    await pressMore('Events')
    await page.getByLabel('item.archived').uncheck()
    await press('Save')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const [endpoint] = (await till.webhooks.list(account)).endpoints
    assert.equal(endpoint?.events?.includes('item.archived'), false)
    assert.equal(endpoint?.events?.includes('item.created'), true)
    await pressMore('Replay')
    await use(page.getByRole('dialog').getByRole('button', { name: 'Replay' }))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await press('Pause')
    await page.getByText('paused', { exact: true }).waitFor()
  })

  await t.test('the activity is newest first, and each page has its own details', async () => {
    await goTo(page, '#/activity', 'Activity')
    const first = page.getByRole('table').getByRole('row').nth(1)
    await first.getByText(/paused a webhook/).waitFor()
    const local = await first.getByRole('cell').nth(1).textContent()
    await press('Show times in UTC')
    assert.match((await first.getByRole('cell').nth(1).textContent()) ?? '', /UTC$/)
    assert.doesNotMatch(local ?? '', /UTC/)
    await use(first.getByText('Show'))
    await press('Next')
    await first.getByText(/paused a webhook/).waitFor({ state: 'detached' })
    assert.equal(await page.locator('details[open]').count(), 0)
  })

  await t.test('an unconfirmed secret is not called a new URL, and no secret warns', async () => {
    const [project = assert.fail()] = (await till.projects.list(account)).projects
    const { id, public_key, config } = project
    const { session } = await till.sessions.init(public_key, { user_id: 'stranger' })
    const caller = await till.sessions.authenticate(session.token)
    await till.projects.update(caller, { id, config: { ...config, webhook_secret: 'theirs' } })
    await goTo(page, `#/webhooks/${id}`, 'Webhook')
    await page.getByText('Same URL, new secret').waitFor()
    const unsigned = { webhook_url: 'https://shop.example/', webhook_secret: null }
    await till.projects.update(account, { id, config: unsigned })
    await page.getByText('The messages are not signed').waitFor()
    await goTo(page, '#/webhooks', 'Webhooks')
    await page.getByText('unsigned', { exact: true }).waitFor()
  })

  await t.test('a secret is set, never shown and removed, and unknown settings stay', async () => {
    const [project = assert.fail()] = (await till.projects.list(account)).projects
    const store = { project_id: project.id, store_id: 'own', store_type: 'custom' } as const
    await till.stores.create(account, { ...store, store_config: { mine: 1 } })
    await goTo(page, '#/stores/own', 'Store own')
    await fill('Currency', 'EUR')
    await fill('API key', 'hidden-key')
    await press('Save')
    await page.getByText('Set, and never shown').waitFor()
    assert.ok(!(await page.content()).includes('hidden-key'))
    assert.deepEqual(await till.stores.listSecrets(account, 'own'), ['api_key'])
    await fill('Currency', '')
    await page.getByLabel('Remove the stored api key').check()
    await press('Save')
    await page.getByText('Not set.').waitFor()
    assert.deepEqual(await till.stores.listSecrets(account, 'own'), [])
    assert.deepEqual((await till.stores.get(account, 'own')).store_config, { mine: 1 })
  })

  await t.test(
    'a report of a shop with 13 currencies and other apps is imported and read',
    async () => {
      const [project = assert.fail()] = (await till.projects.list(account)).projects
      await createDemoStores(till, account, project.id)
      const store_config = { currency: 'USD', bundle_id: BUNDLE_ID }
      await till.stores.update(account, { store_id: 'google-play', store_config })
      const sales = { now: Date.now(), purchases: 400 }
      const file = webStoreFile(sales)
      await till.purchases.import(account, { store_id: 'demo', file })
      await goTo(page, '#/import?store=google-play', 'Import purchases')
      await choose(page, 'report.csv', Buffer.concat([...googlePlayReport(sales)]).toString())
      const unknown = `Item for ${BUNDLE_ID}`
      await page.getByLabel(`${unknown}.gold_pack`).waitFor()
      const item = (sku: string) => page.getByLabel(`${unknown}.${sku}`).inputValue()
      assert.deepEqual(
        [await item('gold_pack'), await item('gold.100'), await item('bundle.starter')],
        ['', 'gold_100', ''],
      )
      await row(page, 'Unknown SKUs', /gold_pack *100 Gold \(Demo Game\) *\d+ *\$.* more/).waitFor()
      const choices = {
        gold_pack: 'gold_100',
        'bundle.starter': 'starter_bundle',
        'pass.monthly': 'season_pass',
        'vip:p1m': 'vip_month',
        test: 'Leave out',
      }
      for (const [sku, choice] of Object.entries(choices)) {
        const select = page.getByLabel(`${unknown}.${sku}`)
        const isSold = (await select.count()) > 0 // few reports have a sale of the testers
        if (isSold) await select.selectOption(choice)
      }
      await press('Use these items and check again')
      await page.getByText(/rows passed over: .*of other apps/).waitFor()
      await use(page.getByRole('button', { name: /^Import \d+ rows into google-play$/ }))
      await page.getByText('Imported 400 new purchases').waitFor()
      await goTo(page, '#/overview?store=google-play&range=all&currency=USD', 'Overview')
      await row(page, 'Best sellers', /💎 80 Gems/).waitFor()
      await page.getByRole('slider', { name: /^Revenue in USD by/ }).waitFor()
      await goTo(page, '#/purchases?store=google-play', 'Purchases')
      await row(page, 'Purchases', /GPA\.\d{4}-\d{4}-\d{4}-\d{5}/).waitFor()
      await goTo(page, '#/player/player-1?store=demo', 'player-1')
      await row(page, 'Owned items', /100 Gold|Potion|80 Gems/).waitFor()
    },
  )

  await t.test('a new key is shown once, and revoking the own key signs out', async () => {
    await goTo(page, '#/keys', 'Keys')
    await press('New key')
    await fill('Name', 'web server')
    await press('Create')
    await page.getByRole('dialog').getByText(/^ak_/).waitFor()
    await press('I have stored it')
    assert.doesNotMatch(await page.content(), /ak_/)
    await row(page, 'Account keys', /web server.*active.*all.*never/).waitFor()
    const added = page.getByRole('row', { name: /web server/ })
    await pressMore('Change', added)
    for (const scope of KEY_SCOPES.filter((each) => each !== 'read')) {
      await page.getByLabel(`Scope ${scope}`).uncheck()
    }
    await press('Save')
    await row(page, 'Account keys', /web server.*active.*read.*never/).waitFor()
    const scopes = (await till.accounts.listKeys(account)).at(-1)?.scopes
    assert.deepEqual(scopes, ['read'])
    await till.accounts.addKey(account) // a key cannot revoke the last one with `admin`
    const own = page.getByRole('row', { name: /this tab/ })
    await pressMore('Revoke', own)
    await page.getByText('You are signed in with this key').waitFor()
    await use(page.getByRole('dialog').getByRole('button', { name: 'Revoke' }))
    await page.getByText('The account key is not valid any more').waitFor()
    assert.deepEqual(await placesOf(page, account.account_key), [])
  })

  assertNoComplaints(complaints)
}

/** The places of the browser that have a key. */
async function placesOf(page: Page, key: string): Promise<string[]> {
  const kept: { [place: string]: string } = await page.evaluate(`({
    sessionStorage: JSON.stringify(sessionStorage),
    localStorage: JSON.stringify(localStorage),
    cookie: document.cookie,
    url: location.href,
  })`)
  return Object.keys(kept).filter((place) => kept[place]?.includes(key))
}

function row(page: Page, table: string, name: RegExp): Locator {
  return page.getByRole('table', { name: table }).getByRole('row', { name }).first()
}

async function choose(page: Page, name: string, text: string): Promise<void> {
  await give(page.locator('input[type=file]').first(), fileOf(name, text))
}

/** Gives a file to an input, which is disabled while another file is checked. */
async function give(input: Locator, file: ReturnType<typeof fileOf>): Promise<void> {
  await input.and(input.page().locator(':enabled')).waitFor({ state: 'attached' })
  await input.setInputFiles(file)
}

function fileOf(name: string, text: string) {
  return { name, mimeType: 'text/csv', buffer: Buffer.from(text) }
}

async function createItem({ till, account }: ConsoleServer, name: string): Promise<void> {
  const item = { store_id: 'main', name, price: '49', type: 'consumable' } as const
  await till.items.create(account, { ...item, display_name: name.replace('c', 'C') })
}
