import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tillkit } from '../support/cli.ts'
import { createShopFile } from '../support/served.ts'

const HEADER = 'transaction_id,sku,purchased_at,price,status\n'

async function setUp(t: TestContext) {
  const { folder, db, ofStore, account_id, ...file } = await createShopFile(t)
  const load = async (name: string, rows: string): Promise<string> => {
    writeFileSync(join(folder, name), HEADER + rows)
    return (await file.json('purchases', 'import', join(folder, name), ...ofStore)).import_id
  }
  const run = (...args: string[]) => file.run(...args, '--account', account_id)
  const json = (...args: string[]) => file.json(...args, '--account', account_id)
  /** Runs a command on a terminal on which someone types `text`. */
  const answer = (text: string, ...args: string[]) => {
    const terminal = { input: text, columns: 80 }
    return tillkit([...args, '--account', account_id, '--db', db], terminal)
  }
  return { load, run, json, answer }
}

test('imports are listed and shown with their file and totals', async (t) => {
  const { load, run, json } = await setUp(t)
  const sale = 'T-1,gold,2024-01-15T10:00:00Z,123450,'
  const id = await load('mai.csv', `${sale}\n${sale}refunded\n`)

  const list = await json('imports', 'list', '--store', 'main')
  const shown = await run('imports', 'show', id)
  const purchases = await json('purchases', 'list', '--store', 'main', '--import', id)

  assert.equal(list.imports[0].import_id, id)
  assert.match((await run('imports', 'list', '--store', 'main')).stdout, /mai\.csv/)
  assert.match(shown.stdout, /file_name +mai\.csv\n/)
  const totals =
    /^Totals of the rows in the file; a purchase and its refund are two rows:\n.*\n.*purchased +USD +1 +1,234\.50\n.*refunded +USD +1 /m
  assert.match(shown.stdout, totals)
  assert.equal(purchases.purchases.length, 1)
})

test('an undo removes the rows, and says how many', async (t) => {
  const { load, json } = await setUp(t)
  await load('april.csv', 'T-1,gold,2024-01-15T10:00:00Z,1,pending\n')
  const rows = 'T-1,gold,2024-01-15T10:00:00Z,1,\nT-2,gold,2024-01-15T10:00:00Z,1,\n'
  const id = await load('mai.csv', rows)

  const { undone_at, ...undone } = await json('imports', 'undo', id, '--yes')

  assert.deepEqual(undone, { import_id: id, store_id: 'main', removed: 1, restored: 1 })
  assert.equal((await json('imports', 'show', id)).undone_at, undone_at)
})

test('an undo asks on a terminal, and needs --yes without one', async (t) => {
  const { load, run, json, answer } = await setUp(t)
  const id = await load('mai.csv', 'T-1,gold,2024-01-15T10:00:00Z,1,\n')
  const undoneAt = async () => (await json('imports', 'show', id)).undone_at

  const { code, stderr } = await run('imports', 'undo', id)
  assert.equal(code, 2)
  assert.match(stderr, /An undo in the store main \(rows to remove: 1, .*: 0\): confirm it/)
  for (const wrong of ['', 'y\n', 'no\n']) {
    assert.equal((await answer(wrong, 'imports', 'undo', id)).code, 1)
  }
  assert.equal(await undoneAt(), undefined)

  const { code: done, stderr: question } = await answer('yes\n', 'imports', 'undo', id)
  assert.equal(done, 0)
  assert.match(question, /Type yes to continue: /)
  assert.ok(await undoneAt())
})

test('a refused undo names the number of rows and the option', async (t) => {
  const { load, run } = await setUp(t)
  const rows = 'T-1,gold,2024-01-15T10:00:00Z,1,\n'
  const id = await load('mai.csv', rows)
  await load('juni.csv', `${rows}T-2,gold,2024-01-15T10:00:00Z,1,\n`)

  const { code, stderr } = await run('imports', 'undo', id, '--yes')

  assert.equal(code, 1)
  const sentence = stderr.replaceAll(/\s+/g, ' ')
  assert.match(sentence, /1 row of a later import or recorded purchase repeats a row of/)
  assert.match(sentence, /this import: --force removes these rows/)
  assert.equal((await run('imports', 'undo', id, '--force', '--yes')).code, 0)
})
