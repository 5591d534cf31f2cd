import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createShopFile } from '../support/served.ts'

async function setUp(t: TestContext) {
  const shop = await createShopFile(t)
  const file = join(shop.folder, 'catalog.json')
  const change = (from: string | RegExp, to: string) =>
    writeFileSync(file, readFileSync(file, 'utf8').replace(from, to))
  return { ...shop, file, change }
}

const ITEMS = '"items": ['
const GEM = `${ITEMS}{"name":"gem","display_name":"Gem","price":"99","type":"consumable"},`

test('a catalog is exported, edited, planned, checked and applied', async (t) => {
  const { file, run, json, project, change } = await setUp(t)
  assert.deepEqual(await run('catalog', 'export', '--project', project.id, '--out', file), {
    code: 0,
    stdout: '',
    stderr: `Exported the catalog to ${file}\n`,
  })
  assert.equal((await run('catalog', 'plan', file, '--check')).code, 0)
  change(ITEMS, GEM)

  const checked = await run('catalog', 'plan', file, '--check')
  assert.equal(checked.code, 1)
  assert.equal(checked.stderr, '')
  assert.match(checked.stdout, /create +main +gem +Gem, 99 consumable\n1 created, 0 updated/)
  const { digest } = await json('catalog', 'plan', file)
  const applied = await run('catalog', 'apply', file, '--digest', digest)
  assert.match(applied.stdout, /^Applied\.\n/, applied.stderr)
  assert.match((await run('catalog', 'apply', file)).stdout, /^Nothing to change\.\n/)

  change('"99"', '"199"')
  const late = await run('catalog', 'apply', file, '--digest', digest)
  assert.deepEqual(
    [late.code, late.stderr],
    [1, 'tillkit: The catalog changed since the plan was made\n'],
  )
  assert.match((await run('catalog', 'plan', file)).stdout, /price: 99 → 199/)
})

test('a mistake is named once with its JSON path, an unknown store with the option for it', async (t) => {
  const { file, run, project, folder, change } = await setUp(t)
  await run('catalog', 'export', '--project', project.id, '--out', file)
  change(ITEMS, GEM.replace('"99"', '"4.99"'))
  const other = join(folder, 'new.json')
  const catalog = { project: { id: project.id }, stores: [{ store_id: 'new' }] }
  writeFileSync(other, JSON.stringify(catalog))

  const mistaken = await run('catalog', 'apply', file)
  const unknown = await run('catalog', 'plan', other)

  assert.deepEqual([mistaken.code, unknown.code], [1, 1])
  assert.match(
    mistaken.stderr,
    /^tillkit: \$\.stores\[0\]\.items\[0\]\.price must be a string of digits/,
  )
  assert.match(
    unknown.stderr,
    /'new' is no store of this project: create_stores, or --create-stores, creates it\n$/,
  )
})

test('--items-only gives the items of a file to the stores of another project', async (t) => {
  const { run, json, project, folder, account_id } = await setUp(t)
  const file = join(folder, 'stage.json')
  const game = ['--name', 'Live', '--bundle-id', 'com.example.live', '--platform', 'web']
  const live = await json('project', 'create', '--account', account_id, ...game)
  await json('store', 'create', '--project', live.id, '--type', 'web', '--store', 'prod_main')
  await run('catalog', 'export', '--project', project.id, '--out', file)
  const only = ['--items-only', '--project', live.id]

  const unknown = await run('catalog', 'plan', file, ...only)
  const applied = await run('catalog', 'apply', file, ...only, '--as', 'main=prod_main')
  const none = await run('catalog', 'plan', file, '--items-only')

  assert.match(
    unknown.stderr,
    /'main' is no store of this project: as, or --as, names another store\n$/,
  )
  assert.match(applied.stdout, /^Applied\.\n.*\ncreate +prod_main +gold/, applied.stderr)
  assert.equal((await json('project', 'show', '--project', live.id)).name, 'Live')
  assert.deepEqual([none.code, /--project ID is missing/.test(none.stderr)], [2, true])
})

test('a spreadsheet needs a project, and is planned and applied', async (t) => {
  const { folder, run, project } = await setUp(t)
  const file = join(folder, 'items.csv')
  writeFileSync(file, 'sku,display_name,price,type\ngem,Gem,99,consumable\nruby,Ruby,4.99,gem\n')

  const without = await run('catalog', 'plan', file, '--store', 'main')
  const bad = await run('catalog', 'plan', file, '--store', 'main', '--project', project.id)
  writeFileSync(file, 'sku,display_name,price,type\ngem,Gem,99,consumable\n')
  const good = await run('catalog', 'apply', file, '--store', 'main', '--project', project.id)

  assert.deepEqual([without.code, bad.code, good.code], [2, 1, 0])
  assert.match(without.stderr, /--project ID is missing/)
  assert.match(bad.stderr, /has 2 mistakes\n {2}line 3, price must .*\n {2}line 3, type must/)
})

test('the plan of a spreadsheet says which new items are archived', async (t) => {
  const { folder, run, project } = await setUp(t)
  const file = join(folder, 'items.csv')
  const header = 'sku,display_name,price,type,archived'
  const rows = ['ruby,Ruby,99,consumable,true', 'opal,Opal,99,consumable,false']
  writeFileSync(file, [header, ...rows, ''].join('\n'))

  const plan = ['catalog', 'plan', file, '--store', 'main', '--project', project.id]
  const { stdout } = await run(...(plan as [string]))

  assert.match(stdout, /ruby +Ruby, 99 consumable, archived\n/)
  assert.match(stdout, /opal +Opal, 99 consumable\n/)
})
