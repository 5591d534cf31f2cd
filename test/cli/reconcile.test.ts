import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tillkit } from '../support/cli.ts'
import { createShopFile } from '../support/served.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency\n'
const row = (id: string, date: string) => `${id},gold,${date}T10:00:00Z,ann,123450,USD\n`
const SALES = HEADER + row('T-1', '2026-07-10')
const JULY = ['--from', '2026-07-01', '--to', '2026-08-01']

async function setUp(t: TestContext) {
  const shop = await createShopFile(t)
  const { folder, db, ofStore } = shop
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const words = ['--db', db, ...ofStore]
  const stored = write('stored.csv', `${SALES}${row('=FAKE', '2026-07-15')}`)
  assert.equal((await tillkit(['purchases', 'import', stored, ...words])).code, 0)
  const file = write('sales.csv', SALES)
  const reconcile = (more: readonly string[], options: object = {}) =>
    tillkit(['purchases', 'reconcile', ...more, ...JULY, ...words], options)
  const imports = async () => {
    const { stdout } = await tillkit(['imports', 'list', '--json', ...words])
    return JSON.parse(stdout).imports.length
  }
  return { folder, file, stored, reconcile, imports, words }
}

test('a comparison prints each difference, and exits with 1 if there is one', async (t) => {
  const { file, stored, reconcile } = await setUp(t)
  const same = await reconcile([stored])
  assert.deepEqual([same.code, same.stderr], [0, ''])
  assert.match(same.stdout, /^judged +2$/m)
  assert.match(same.stdout, /\nNothing differs in what was compared\.\n$/)

  const piped = await reconcile([file])
  assert.deepEqual([piped.code, piped.stderr], [1, ''])
  assert.match(piped.stdout, /^missing_in_file: 1 purchase that the file lacks$/m)
  assert.match(piped.stdout, /^missing_in_file +USD +1 +1,234\.50 +0\.00$/m)
  const narrow = await reconcile([file], { columns: 80 })
  const lines = narrow.stdout.split('\n').filter((line) => line.length > 80)
  assert.deepEqual([narrow.code, lines], [1, []])

  const stdin = await reconcile(['-'], { input: SALES })
  assert.deepEqual([stdin.code, stdin.stdout], [1, piped.stdout])
})

test('the answer names what was not compared: it said that nothing differs', async (t) => {
  const { folder, file, reconcile, words } = await setUp(t)
  const late = join(folder, 'late.csv')
  const header = 'transaction_id,sku,purchased_at\n'
  writeFileSync(late, `${header}LATE,gold,2026-07-31T10:00:00Z\n`)
  assert.equal((await tillkit(['purchases', 'import', late, ...words])).code, 0)
  const bare = join(folder, 'bare.csv')
  writeFileSync(bare, `${header}T-1,gold,2026-07-10T10:00:00Z\n=FAKE,gold,2026-07-15T10:00:00Z\n`)
  const { code, stdout } = await reconcile([bare])
  assert.equal(code, 0)
  const expected = [
    'Not judged: 1 purchase that the file lacks',
    '  within two days of the ends of the period: 1',
    'No amount was compared.',
    'No user was compared.',
    '',
    'Nothing differs in what was compared.',
    '',
  ]
  assert.deepEqual(stdout.split('\n').slice(-expected.length), expected)
  const { stdout: json } = await reconcile([file, '--json'])
  const { judged, unjudged, near_ends, compared, compared_amounts, compared_users } =
    JSON.parse(json)
  assert.deepEqual([judged, unjudged, near_ends], [2, 1, 1])
  assert.deepEqual([compared, compared_amounts, compared_users], [1, 1, 1])
})

test('the report and --json have the same ids, and the report is no purchase file', async (t) => {
  const { folder, file, reconcile, words } = await setUp(t)
  const report = join(folder, 'differences.csv')
  const { code, stdout, stderr } = await reconcile([file, '--report', report, '--json'])
  assert.deepEqual([code, stderr], [1, `Wrote the differences to ${report}\n`])
  const ids = JSON.parse(stdout).differences.flatMap(
    ({ first }: { first: { transaction_id: string }[] }) =>
      first.map(({ transaction_id }) => transaction_id),
  )
  assert.deepEqual(ids, ['=FAKE'])
  const [header, ...rows] = readFileSync(report, 'utf8').split('\r\n')
  assert.match(header ?? '', /^kind,transaction_id,line,purchased_at,stored_sku,.*,file_status$/)
  assert.deepEqual(rows, [
    "missing_in_file,'=FAKE,,2026-07-15T10:00:00.000Z,gold,1,ann,123450,USD,purchased,,,,,,",
    '',
  ])
  const refused = await tillkit(['purchases', 'import', report, ...words])
  assert.equal(refused.code, 1)
  const over = await reconcile([file, '--report', file])
  assert.deepEqual([over.code, readFileSync(file, 'utf8')], [2, SALES])
})

test('--cancel-missing asks on a terminal, and needs --yes elsewhere', async (t) => {
  const { file, reconcile, imports, words } = await setUp(t)
  const piped = await reconcile([file, '--cancel-missing'])
  assert.equal(piped.code, 2)
  assert.match(
    piped.stderr,
    /This cancels 1 purchase of the store main, from 2026-07-01 to 2026-08-01: confirm it with --yes/,
  )
  const stdin = await reconcile(['-', '--cancel-missing', '--yes'], { input: SALES })
  assert.deepEqual([stdin.code, /needs a file/.test(stdin.stderr)], [2, true])
  const no = await reconcile([file, '--cancel-missing'], { input: 'no\n', columns: 80 })
  assert.deepEqual([no.code, /Nothing was changed/.test(no.stderr)], [1, true])
  assert.equal(await imports(), 1)

  const yes = await reconcile([file, '--cancel-missing'], { input: 'yes\n', columns: 80 })
  assert.equal(yes.code, 0)
  const [, undo = ''] = /Cancelled: 1\. To undo it: (imports undo imp_\w+)/.exec(yes.stdout) ?? []
  assert.equal(await imports(), 2)
  const again = await reconcile([file, '--cancel-missing', '--yes', '--json'])
  assert.deepEqual([again.code, JSON.parse(again.stdout).differences], [0, []])

  const undone = await tillkit([...undo.split(' '), '--yes', ...words.slice(0, 4)])
  assert.equal(undone.code, 0)
  const json = await reconcile([file, '--cancel-missing', '--yes', '--json'])
  assert.deepEqual([json.code, JSON.parse(json.stdout).cancelled], [0, 1])
})

test('an unknown SKU is named once, and a missing period names its option', async (t) => {
  const { folder, file, words } = await setUp(t)
  const other = join(folder, 'other.csv')
  writeFileSync(other, SALES.replaceAll('gold', 'gol'))
  const args = ['purchases', 'reconcile', other, ...JULY, ...words]
  const unknown = await tillkit(args)
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /"gol" is not the name of an item .*: did you mean gold\?/)
  const without = await tillkit(['purchases', 'reconcile', file, ...words])
  assert.equal(without.code, 2)
  assert.match(without.stderr, /--from is required: a file of the format canonical has no period/)
})
