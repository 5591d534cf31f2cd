import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Interrupted } from '../../cli/command-errors.ts'
import { createOutputFile } from '../../cli/output-file.ts'
import { createIo, startTillkit, tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createShopFile } from '../support/served.ts'

async function setUp(t: TestContext) {
  const file = await createShopFile(t)
  const { folder, db, json, ofProject, ofStore, account_id: account } = file
  const newItem = (store: string, name: string) =>
    json(
      ...['item', 'create', '--account', account, '--store', store, '--name', name],
      ...['--display-name', name, '--price', '1', '--type', 'consumable'],
    )
  await newItem('main', 'gem')
  const run = (command: string, ...args: string[]) =>
    file.run('purchases', command, ...args, ...ofStore)
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  return { folder, db, json, account, ofProject, run, write, newItem }
}

const AT = '2024-01-15T10:00:00Z'
const GOOD = `transaction_id,sku,purchased_at,user_id,price,status,ip
T-1,gold,2024-01-15T10:00:00Z,ann,123450,,10.0.0.1
T-2,gem,2024-02-15T10:00:00Z,bob,99,refunded,10.0.0.2
`

test('a dry run prints the summary of the real run and stores nothing', async (t) => {
  const { folder, run, write } = await setUp(t)
  const file = write('good.csv', GOOD)
  const report = join(folder, 'errors.csv')
  const dry = await run('import', file, '--dry-run')
  const real = await run('import', file, '--report', report)
  assert.deepEqual([dry.code, real.code, dry.stderr, real.stderr], [0, 0, '', ''])
  const counts = (text: string, from: string) => text.slice(text.indexOf(from)).replace(/ +/g, ' ')
  assert.equal(counts(dry.stdout, '\nrows'), counts(real.stdout, '\nrows'))
  assert.match(dry.stdout, /^Dry run: nothing was stored\./)
  assert.match(real.stdout, /^All rows were imported\.\nimport_id /)
  assert.ok(!dry.stdout.includes('import_id'))
  const again = await run('import', file)
  assert.match(again.stdout, /^Nothing new: 2 rows were imported before\./)
  assert.match(
    real.stdout,
    /purchased +USD +1 +1,234\.50\nrefunded +USD +1 +0\.99\nNot stored: ip\n/,
  )
  assert.match(real.stdout, /^added +2$/m)
  assert.ok(!existsSync(report), 'a good file has no report')
})

test('a file with only a header has nothing to import, and no id of an import', async (t) => {
  const { run, write } = await setUp(t)
  const file = write('empty.csv', 'transaction_id,sku,purchased_at\n')

  const { code, stdout } = await run('import', file)

  assert.equal(code, 0)
  assert.match(stdout, /^Nothing to import: the file has no rows\.\nlayout +canonical\nrows +0\n/)
  assert.ok(!(await run('import', file, '--json')).stdout.includes('import_id'))
})

test('a change of the currency of a store warns that the prices of its items are not converted', async (t) => {
  const { run, ofStore } = await createShopFile(t)
  const change = async (currency: string) =>
    (await run('store', 'update', ...ofStore, '--config', JSON.stringify({ currency }))).stderr

  assert.equal(await change('USD'), '')
  assert.equal(await change('USD'), '')
  assert.equal(
    await change('JPY'),
    'warning: prices are not converted: those of items are now in JPY, not USD (items: 1). ' +
      'Stored purchases keep their currency\n',
  )
})

test('an unknown SKU is named once, with its rows and the nearest name, even an archived one', async (t) => {
  const { run, json, account, write } = await setUp(t)
  await json('item', 'archive', 'gem', '--account', account, '--store', 'main')
  const rows = Array.from({ length: 150 }, (_, i) => `U-${i},golt,2024-01-15T10:00:00Z,,,,\n`)
  const others =
    'U-x,GEM,2024-01-15T10:00:00Z,,,,\nU-y,silver,2024-01-15T10:00:00Z,,,,\nU-z,gold,yesterday,,,,\n'
  const { code, stderr } = await run('import', write('bad.csv', GOOD + rows.join('') + others))
  const purchase = ['--transaction-id', 'T-1', '--sku', 'golt', '--purchased-at', AT]
  const recorded = await run('record', ...purchase)

  assert.equal(code, 1)
  assert.match(stderr, /^tillkit: 153 mistakes in the file\. Create .*: see --skus-template$/m)
  assert.deepEqual(stderr.trimEnd().split('\n').slice(1), [
    '  line 4, sku "golt" is not the name of an item of this store, 150 rows: did you mean gold?',
    '  line 154, sku "GEM" is not the name of an item of this store, 1 row: did you mean gem?',
    '  line 155, sku "silver" is not the name of an item of this store, 1 row',
    '  and 1 more',
  ])
  assert.match(recorded.stderr, /--sku is not the name .*: did you mean gold\?$/m)
})

test('a report has the bad rows with their mistakes and all own cells, and cannot be imported', async (t) => {
  const { run, write, folder } = await setUp(t)
  const rows = [
    'T-3,silver,yesterday,=cmd(),4.99,,x',
    'T-4,gold,2024-01-15T10:00:00Z,ann,1,,x',
    'T-5,gold,"a"b,,,,',
    'T-6,gold',
    'T-7,gold,2024-01-15T10:00:00Z,ann,1,,x,"y, z",=cmd()',
  ]
  const file = write('bad.csv', `${GOOD}${rows.join('\n')}\n`)
  const report = join(folder, 'errors.csv')
  const refused = await run('import', file, '--report', report)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^Bad rows in .*: 4$/m)
  const [header, first = '', second = '', narrow = '', wide = '', ...rest] = readFileSync(
    report,
    'utf8',
  ).split('\r\n')
  assert.equal(
    header,
    'line,column,code,message,tillkit_export,transaction_id,sku,purchased_at,user_id,price,status,ip',
  )
  assert.match(
    first,
    /^4,"purchased_at; price","invalid; invalid",".*",1,T-3,silver,yesterday,'=cmd\(\),4\.99,,x$/,
  )
  assert.match(second, /^6,,misplaced_quote,/)
  assert.match(narrow, /^7,,wrong_width,".*",1,T-6,gold$/)
  assert.match(wide, /^8,,wrong_width,".*",1,T-7,.*,x,"y, z",'=cmd\(\)$/)
  assert.deepEqual(rest, [''])

  const again = await run('import', report)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /line 1: This is a report of bad rows/)
})

test("a foreign file with columns named like a report's keeps its apostrophes, and is reported on", async (t) => {
  const { run, write, folder } = await setUp(t)
  const header = 'line,column,code,message,transaction_id,sku,purchased_at'
  const row = "1,x,y,z,'=1,silver,2024-01-15T10:00:00Z"
  const report = join(folder, 'errors.csv')
  await run('import', write('bad.csv', `${header}\n${row}\n`), '--report', report)
  const text = readFileSync(report, 'utf8')
  assert.match(text, /^line,column,code,message,tillkit_export,line,column,code,message,trans/)
  assert.match(text, /,1,1,x,y,z,''=1,silver,/)
  const mended = write('mended.csv', `${header}\n${row.replace('silver', 'gold')}\n`)
  assert.equal((await run('import', mended)).code, 0)
  const { purchases } = JSON.parse((await run('list', '--json')).stdout)
  assert.equal(purchases[0].transaction_id, "'=1")
})

test('--map imports any columns, and a missing one is named', async (t) => {
  const { run, write } = await setUp(t)
  const rows = 'Order No;Artikel;When;Betrag;User;Count\n7;gold;2024-01-15T10:00:00Z;4.99;ann;3\n'
  const file = write('orders.csv', rows)
  const columns = ['transaction_id=Order No', 'sku=Artikel', 'price=Betrag', 'purchased_at=When']
  const map = [...columns, 'user_id=User', 'quantity=Count'].flatMap((each) => ['--map', each])
  assert.equal((await run('import', file, ...map, '--price-unit', 'major')).code, 0)
  const { stdout } = await run('list')
  assert.match(stdout, /^transaction_id +sku +purchased_at +user_id +quantity +price +currency/)
  assert.match(stdout, /^ +7 +gold +2024-01-15T10:00:00\.000Z +ann +3 +499 +USD +purchased$/m)
  const { code, stderr } = await run('import', file, '--map', 'sku=Ware')
  assert.deepEqual([code, /line 1, Ware is missing/.test(stderr)], [1, true], stderr)
})

const ORDERS = `Order,Article,When,Type
1,gold.1,2024-01-31 10:00,sale
2,gem.1,2024-01-31 10:00,sale
3,gem.1,2024-01-31 10:00,sale
4,old.1,2024-01-31 10:00,payout
5,gem,2024-01-31 10:00,sale
`
const LAYOUT = {
  columns: { transaction_id: 'Order', sku: 'Article', purchased_at: 'When' },
  zone: 'UTC',
  skip: { Type: ['payout'] },
}

test('unknown SKUs are written to a template, and the filled-in map imports the file', async (t) => {
  const { folder, run, write } = await setUp(t)
  const file = write('orders.csv', ORDERS)
  const layout = ['--layout', write('shop.json', `\uFEFF${JSON.stringify(LAYOUT)}`)]
  const template = join(folder, 'skus.csv')

  const written = await run('import', file, ...layout, '--skus-template', template, '--json')
  const again = await run('import', file, ...layout, '--skus-template', template)
  const nothing = await run('list')
  const unknown = readFileSync(template, 'utf8')
  const unfilled = await run('import', file, ...layout, '--skus', template)
  writeFileSync(template, 'vendor_sku,item\ngold.1,gold\ngem.1,\n')
  const imported = await run('import', file, ...layout, '--skus', template)
  const full = ['--skus-template', join(folder, 'none.csv')]
  const empty = await run('import', file, ...layout, '--skus', template, ...full)

  assert.equal(unknown, 'vendor_sku,item\r\ngold.1,?\r\ngem.1,?\r\n')
  assert.match(
    unfilled.stderr,
    /2 mistakes in the SKU map\n {2}line 2, item must name an item, or be empty/,
  )
  assert.deepEqual(
    [written.code, JSON.parse(written.stdout)],
    [0, { skus_template: template, skus: 2 }],
  )
  assert.deepEqual([again.code, /exists, and is not overwritten/.test(again.stderr)], [2, true])
  assert.doesNotMatch(nothing.stdout, /gold|gem/)
  assert.match(
    imported.stdout,
    /^3 rows passed over: 2 left out by the SKU map, 1 skipped by the layout\nAll other rows were imported\.\n/,
  )
  assert.match(imported.stdout, /^rows +2$/m)
  assert.match(
    imported.stdout,
    /^Totals of the other rows; a purchase and its refund are two rows:$/m,
  )
  assert.equal(empty.code, 0)
  assert.equal(readFileSync(join(folder, 'none.csv'), 'utf8'), 'vendor_sku,item\r\n')
})

test('mistakes in a layout and in a SKU map are named with their key or line', async (t) => {
  const { run, write } = await setUp(t)
  const file = write('orders.csv', ORDERS)
  const layout = write('shop.json', JSON.stringify({ ...LAYOUT, zone: 'Mars' }))
  const broken = write('broken.json', '{')
  const good = write('good.json', JSON.stringify(LAYOUT))
  const skus = write('skus.csv', 'vendor_sku,item\ngold.1,silver\n')
  for (const [options, expected, message] of [
    [['--layout', layout], 2, /--layout: zone must be a time zone/],
    [['--layout', broken], 2, /--layout is not JSON/],
    [['--skus', skus], 1, /1 mistake in the SKU map\n {2}line 2, item is not the name/],
    [['--layout', good, '--skus-template', 'no/such/folder'], 2, /no such file or directory/],
  ] as const) {
    const { code, stderr } = await run('import', file, ...options)
    assert.deepEqual([code, message.test(stderr)], [expected, true], stderr)
  }
})

test('a file of a vendor that is read by a map says which preset fits', async (t) => {
  const { run, write } = await setUp(t)
  const header = 'id,Created date (UTC),Amount,Status,sku (metadata),when,State'
  const file = write('stripe.csv', `${header}\npi_1,x,20.00,Paid,gold,2024-01-31T10:00:00Z,\n`)
  const map = ['transaction_id=id', 'sku=sku (metadata)', 'purchased_at=when']
  const args = ['import', file, ...map.flatMap((each) => ['--map', each])]

  const wrong = await run(...(args as [string]))
  const mapped = await run(...(args as [string]), '--map', 'status=State', '--dry-run')

  assert.match(wrong.stderr, /1 mistake in the file; its header fits the preset stripe_payments/)
  assert.match(mapped.stdout, /^The header fits a preset: .* --preset stripe_payments$/m)
})

test('an export goes to standard output, a file or a named pipe', async (t) => {
  const { run, write, folder } = await setUp(t)
  await run('import', write('good.csv', GOOD))
  const [out, pipe] = [join(folder, 'out.csv'), join(folder, 'pipe')]
  const { stdout } = await run('export')
  const stderr = `Exported 2 purchases to ${out}\n`
  assert.deepEqual(await run('export', '--out', out), { code: 0, stdout: '', stderr })
  assert.equal(readFileSync(out, 'utf8'), stdout)
  assert.equal(statSync(out).mode & 0o777, 0o600)
  chmodSync(out, 0o644)
  await run('export', '--out', out)
  assert.equal(statSync(out).mode & 0o777, 0o644, 'an existing file keeps its mode')

  execFileSync('mkfifo', [pipe])
  const [text, { code }] = await Promise.all([readFile(pipe, 'utf8'), run('export', '--out', pipe)])
  assert.deepEqual([code, text, statSync(pipe).isFIFO()], [0, stdout, true])
})

test('a summary has a line with a bar for each group, of one store or of all', async (t) => {
  const { run, write, json, newItem, account, ofProject, db } = await setUp(t)
  const usd = ['--type', 'web', '--config', '{"currency":"USD"}']
  await json('store', 'create', '--account', account, ...ofProject, '--store', 'side', ...usd)
  await newItem('side', 'gold')
  await run('import', write('good.csv', GOOD))
  const onSide = ['--account', account, '--store', 'side', '--db', db]
  await tillkit(['purchases', 'import', write('good.csv', GOOD.replace('gem', 'gold')), ...onSide])

  const { stdout: months } = await run('summary')
  assert.match(months, /^2024-01 +gold +USD +1 +0 +1,234\.50 +#+$/m)
  assert.match(months, /^2024-02 +gem +USD +0 +1 +0\.00$/m)
  assert.ok(months.split('\n').every((line) => line.length <= 80))
  const top = await run('summary', '--top', '1')
  assert.deepEqual(top.stdout.match(/gold|gem/g), ['gold'])
  const heading = /^The groups by month, sku, currency with the most purchases, at most 1:\n/
  assert.match(top.stdout, heading)
  const all = ['purchases', 'summary', '--account', account, '--db', db]
  const { stdout } = await tillkit([...all, '--by', 'store,week'])
  assert.match(stdout, /^store_id +week +currency +purchased +refunded +revenue +refunds +buyers/)
  assert.match(stdout, /^side +2024-02-12 +USD +0 +1 +0\.00 +0\.99 +0$/m)
  await tillkit(['store', 'update', ...onSide, '--sandbox', 'true'])
  const sandbox = await tillkit([...all, '--by', 'store', '--sandbox'])
  assert.match(sandbox.stdout, /^side/m)
  assert.doesNotMatch(sandbox.stdout, /^main/m)
})

test('a report or an export that would overwrite its source, or cannot be written, is wrong usage', async (t) => {
  const { run, write, folder, db } = await setUp(t)
  const file = write('good.csv', GOOD)
  const nowhere = join(folder, 'nowhere', 'errors.csv')
  for (const [[command, ...args], message] of [
    [['import', file, '--report', join(folder, '.', 'good.csv')], /would overwrite what this comm/],
    [['import', file, '--report', db], /would overwrite a database/],
    [['export', '--out', db], /would overwrite a database/],
    [['export', '--out', `${db}-wal`], /would overwrite a database/],
    [['import', file, '--report', nowhere], /--report: .*nowhere: there is no such/],
    [['export', '--out', nowhere], /nowhere: there is no such file/],
  ] as const) {
    const { code, stderr } = await run(command, ...args)
    assert.deepEqual([code, message.test(stderr)], [2, true], stderr)
  }
  assert.equal(readFileSync(file, 'utf8'), GOOD)
  assert.equal((await run('list')).stdout, 'none\n')
})

test('Ctrl-C during an import stores nothing and ends with 130, also with --json', async (t) => {
  const { run, db } = await setUp(t)
  for (const args of [[], ['--json']]) {
    const all = ['purchases', 'import', '-', '--store', 'main', '--db', db, ...args]
    const { finished, stop } = startTillkit(all, { input: endless() })
    async function* endless() {
      yield Buffer.from('transaction_id,sku,purchased_at\n')
      for (let chunk = 0; ; chunk++) {
        if (chunk === 2) stop('SIGINT')
        yield Buffer.from('T-1,gold,2024-01-15T10:00:00Z\n'.repeat(2_000))
      }
    }
    const { code, stdout, stderr } = await finished
    assert.equal(code, 130)
    if (args.length > 0) assert.equal(JSON.parse(stdout).code, 'interrupted')
    else assert.deepEqual([stdout, stderr], ['', 'tillkit: nothing was imported\n'])
    assert.equal((await run('list')).stdout, 'none\n')
  }
})

test('Ctrl-C while a file is written leaves no part of it', async (t) => {
  const folder = temporaryFolder(t)
  const out = join(folder, 'out.csv')
  const io = createIo()
  async function* endless() {
    for (let row = 0; ; row++) {
      if (row === 100) io.emit('SIGINT', 'SIGINT')
      yield await setTimeout(1, 'T-1')
    }
  }
  const written = createOutputFile({ io, inputs: [] }, '--out', out).write(endless())
  await assert.rejects(written, new Interrupted(`${out} was not written`))
  assert.deepEqual(readdirSync(folder), [])
})

test('a summary of several currencies draws no bars, because they have no common scale', async (t) => {
  const { run, write } = await setUp(t)
  const header = 'transaction_id,sku,purchased_at,price,currency'
  const rows = ['1,gold,2024-01-01T00:00:00Z,499,USD', '2,gold,2024-01-01T00:00:00Z,800,JPY']
  await run('import', write('two.csv', [header, ...rows, ''].join('\n')))
  assert.doesNotMatch((await run('summary')).stdout, /#/)
  assert.match((await run('summary')).stdout, / 800$/m)
})

test('an import warns of rows that repeat an earlier row', async (t) => {
  const { run, write } = await setUp(t)
  const row = '1,gold,2024-01-01T00:00:00Z'
  const file = write('twice.csv', ['transaction_id,sku,purchased_at', row, row, ''].join('\n'))
  const { stdout } = await run('import', file)
  assert.match(
    stdout,
    /^Warning: 1 row repeats an earlier row of the file, and count once: line 3$/m,
  )
  assert.match(stdout, /^repeated +1$/m)
})

test('a file is explained, its layout written, and the file imported with it', async (t) => {
  const { folder, run, write } = await setUp(t)
  const lines = [
    'Bestellnummer;Artikelnummer;Datum;Betrag',
    'B-1;gold;13.05.2026 10:00;4,99 €',
    'B-2;gem;14.05.2026 10:00;1.234,50 €',
  ]
  const file = write('orders.csv', `${lines.join('\n')}\n`)
  const refused = await run('import', file)
  assert.match(refused.stderr, /purchases explain proposes a layout for any file$/m)
  const printed = await run('explain', file)
  assert.equal(printed.code, 0)
  assert.match(
    printed.stdout,
    /^Datum +purchased_at: dates, DD\.MM\.YYYY +13\.05\.2026 10:00 \| 14\.05\.2026 10:00$/m,
  )
  assert.match(printed.stdout, /^The layout:\n\{\n {2}"columns": \{$/m)
  assert.match(printed.stdout, /^1\. zone: In which time zone are the times of Datum\?$/m)

  const out = join(folder, 'shop.json')
  const written = await run('explain', file, '--out', out)
  assert.deepEqual([written.code, written.stderr], [0, ''])
  const json = JSON.parse((await run('explain', file, '--json')).stdout)
  assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')), json.layout)
  const imported = await run('import', file, '--layout', out)
  assert.match(imported.stdout, /^purchased +EUR +2 +1,239\.49$/m)
  assert.match((await run('explain', file, '--out', file)).stderr, /would overwrite/)
})

test('a file is explained without a database, unless a store is named', async (t) => {
  const { folder, write } = await setUp(t)
  const file = write('orders.csv', 'Order;SKU;Date\nB-1;gold;13.05.2026\n')
  const db = join(folder, 'missing.db')
  const { code, stdout } = await tillkit(['purchases', 'explain', file, '--db', db])
  assert.equal(code, 0)
  assert.doesNotMatch(stdout, /of the store/)
  assert.ok(!existsSync(db))
  const named = await tillkit(['purchases', 'explain', file, '--db', db, '--store', 'main'])
  assert.match(named.stderr, /Cannot open the database/)
})

test('without a layout to propose, the reason is given and the exit code is 1', async (t) => {
  const { folder, run, write } = await setUp(t)
  const out = join(folder, 'shop.json')
  const known = await run('explain', write('good.csv', GOOD), '--out', out)
  assert.equal(known.code, 1)
  assert.match(known.stdout, /^No layout is needed: an import reads the file as it is\.$/m)
  assert.equal((await run('explain', write('good.csv', GOOD))).code, 0)
  const cities = write('cities.csv', 'City,Mood\nParis,good\n')
  for (const more of [[], ['--json']]) {
    const { code, stdout, stderr } = await run('explain', cities, '--out', out, ...more)
    assert.equal(code, 1)
    assert.match(stdout, /Paris/)
    assert.match(stderr, /^tillkit: No layout can be proposed\. transaction_id: no column has ids/)
  }
  assert.ok(!existsSync(out))
})

test('an import says that rows have no price: an export of RevenueCat may lack the column', async (t) => {
  const { run, write } = await setUp(t)
  const header =
    'rc_original_app_user_id,product_identifier,start_time,store_transaction_id,is_sandbox'
  const row = (id: string) => `u1,gold,2024-01-15 10:00:00,${id},false\n`
  const file = write('export.csv', `${header}\n${row('1')}${row('2')}`)
  const { code, stdout } = await run('import', file)
  assert.equal(code, 0)
  assert.match(stdout, /^Warning: 2 rows have no price, and no sum counts them$/m)
  const priced = write('good.csv', GOOD)
  assert.doesNotMatch((await run('import', priced, '--dry-run')).stdout, /no price/)
})

test('a file of an option may be a pipe, after which the driver is found', async (t) => {
  const { db, write } = await setUp(t)
  const file = write('vendor.csv', GOOD.replace('gem', 'com.example.gem'))
  const skus = 'vendor_sku,item\ncom.example.gem,gem\n'
  const script = 'printf %s "$0" | "$@"'
  const command = ['dist/cli/main.js', 'purchases', 'import', file, '--store', 'main', '--db', db]
  const words = ['-c', script, skus, process.execPath, ...command, '--skus', '/dev/stdin']
  const { status, stdout, stderr } = spawnSync('sh', words, { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  assert.match(stdout, /^All rows were imported\./)
})

test('an import shows the period of its rows, and warns of a time in the future', async (t) => {
  const { run, write } = await setUp(t)
  const file = write('good.csv', GOOD)
  const good = await run('import', file, '--dry-run')
  assert.match(
    good.stdout,
    /^first_purchased_at +2024-01-15T10:00:00.000Z\nlast_purchased_at +2024-02-15T10:00:00.000Z$/m,
  )
  assert.ok(!good.stdout.includes('future'), good.stdout)
  const future = write('future.csv', GOOD.replace('2024-02-15', '2962-02-15'))
  const warned = await run('import', future, '--dry-run')
  assert.match(
    warned.stdout,
    /^Warning: the latest purchase is in the future, at 2962-02-15T10:00:00.000Z$/m,
  )
})
