import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { blocksOf } from '../support/pages.ts'
import { createShopFile } from '../support/served.ts'

/** The lines of a file that do not compile. */
function compile(file: string): number[] {
  const words = [
    'node_modules/typescript/bin/tsc',
    '--noEmit',
    '--strict',
    '--ignoreConfig',
    '--skipLibCheck',
    file,
  ]
  const { stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  return [...stdout.matchAll(/\((\d+),\d+\): error TS/g)].map(([, line]) => Number(line))
}

/** The TypeScript of a catalog with these stores. */
async function typesOf(stores: object) {
  const input = JSON.stringify({ stores })
  const { code, stdout, stderr } = await tillkit(['catalog', 'types', '-'], { input })
  assert.equal(code, 0, stderr)
  return stdout
}

test('a misspelt SKU does not compile, and a right one does', async (t) => {
  const { folder, run, ofStore, ofProject } = await createShopFile(t)
  const gem = ['--name', 'gem', '--display-name', 'Gem', '--price', '99', '--type', 'consumable']
  await run('item', 'create', ...ofStore, ...gem, '--meta', '{"amount":5,"tags":["new"]}')
  const old = ['--name', 'old_gem', ...gem.slice(2), '--meta', '{"amount":1}']
  await run('item', 'create', ...ofStore, ...old)
  await run('item', 'archive', 'old_gem', ...ofStore)
  const [catalog, types, shop] = ['catalog.json', 'catalog.ts', 'shop.ts'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  await run('catalog', 'export', ...ofProject, '--out', catalog)

  const written = await run('catalog', 'types', ...ofProject, '--out', types)
  const fromFile = await tillkit(['catalog', 'types', catalog])
  const program = [
    "import type { Catalog, Metadata, Sku, Store } from './catalog'",
    "export const right: Sku[] = ['gem', 'gold', 'old_gem']",
    "export const wrong: Sku = 'gemm'",
    "export const store: Store = 'mian'",
    "export const inStore: Sku<'main'> = 'gem'",
    'export const amount = (metadata: Metadata<"gem">): number => metadata.amount',
    'export const tag = (metadata: Metadata<"gem">): string => metadata.tags[0].name',
    'export const count = (all: Catalog["main"]): number => all.old_gem.amount',
  ]
  writeFileSync(shop, program.join('\n'))

  assert.deepEqual([written.code, written.stdout], [0, ''], written.stderr)
  assert.equal(fromFile.stdout, readFileSync(types, 'utf8'))
  assert.deepEqual(compile(shop), [3, 4, 7])
})

test('the program of docs/catalog.md compiles with the catalog of the page', async (t) => {
  const folder = temporaryFolder(t)
  const page = readFileSync('docs/catalog.md', 'utf8')
  const [catalog = ''] = blocksOf(page, 'json')
  const [program = ''] = blocksOf(page, 'ts')
  writeFileSync(join(folder, 'catalog.ts'), await typesOf(JSON.parse(catalog).stores))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(process.cwd(), join(folder, 'node_modules/tillkit'), 'junction')
  writeFileSync(join(folder, 'right.ts'), program)
  writeFileSync(join(folder, 'wrong.ts'), program.replace("'gold_100' sat", "'gold_10' sat"))
  assert.deepEqual(compile(join(folder, 'right.ts')), [])
  assert.deepEqual(compile(join(folder, 'wrong.ts')), [5])
})

test('the metadata of a SKU is that of all its stores, or of one', async (t) => {
  const folder = temporaryFolder(t)
  const storeOf = (store_id: string, metadata: object) => ({
    store_id,
    items: [{ name: 'gold', metadata }],
  })
  const stores = [storeOf('usd', { amount: 1 }), storeOf('eur', { amount: 1, vat: '19' })]
  writeFileSync(join(folder, 'catalog.ts'), await typesOf(stores))
  const program = [
    "import type { Metadata } from './catalog'",
    "export const one = (each: Metadata<'gold', 'eur'>) => each.vat",
    "export const all = (each: Metadata<'gold'>) => each.amount",
    "export const wrong = (each: Metadata<'gold'>) => each.vat",
  ]
  writeFileSync(join(folder, 'shop.ts'), program.join('\n'))
  assert.deepEqual(compile(join(folder, 'shop.ts')), [4])
})

test('the types show the shape of the metadata', async () => {
  const shapes: readonly (readonly [metadata: object, type: string])[] = [
    [{}, '{}'],
    [{ b: true, a: null }, '{ a: null; b: boolean }'],
    [
      { empty: [], mixed: [1, 'x', null] },
      '{ empty: unknown[]; mixed: (null | number | string)[] }',
    ],
    [{ rows: [{ a: 1 }, { a: 2, b: [[1]] }] }, '{ rows: { a: number; b?: number[][] }[] }'],
    [{ 'drop-rate': { '1': 0.5 } }, '{ "drop-rate": { "1": number } }'],
  ]
  const items = shapes.map(([metadata], index) => ({ name: `item_${index}`, metadata }))
  const text = await typesOf([{ store_id: 'main', items }])
  for (const [index, [, type]] of shapes.entries()) {
    assert.ok(text.includes(`\n    item_${index}: ${type}\n`), `${type}\n${text}`)
  }
})

test('any name and any text compile, and the order of the catalog does not matter', async (t) => {
  const file = join(temporaryFolder(t), 'catalog.ts')
  const names = ["it's", 'say "x"', '`y`', '*/', '\\', 'a\nb', '\u2028\u202e', '名前', '__proto__']
  const metadata = JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:1`)}}`)
  const skus = ['1', '0x1', '1e3', 'class', '__proto__', 'constructor', 'a'.repeat(255)]
  const items = skus.map((name) => ({ name, metadata }))
  const stores = ['a.b', '1.0', '-', 'toString'].map((store_id) => ({ store_id, items }))

  const text = await typesOf(stores)
  const reversed = await typesOf(
    stores.toReversed().map((store) => ({ ...store, items: items.toReversed() })),
  )
  const use = skus.map((sku, i) => `export const _${i}: Sku<'1.0'> = ${JSON.stringify(sku)}\n`)
  writeFileSync(file, `${text}${use.join('')}export const wrong: Sku = 'b'\n`)

  assert.equal(reversed, text)
  assert.doesNotMatch(text, /[\u2028\u202e]/)
  assert.deepEqual(compile(file), [text.split('\n').length + skus.length])
})

test('--check ends with 1 for a missing or stale file, and changes nothing', async (t) => {
  const folder = temporaryFolder(t)
  const [catalog, out] = [join(folder, 'catalog.json'), join(folder, 'catalog.ts')]
  const write = (name: string) =>
    writeFileSync(catalog, JSON.stringify({ stores: [{ store_id: 'main', items: [{ name }] }] }))
  const types = (...more: string[]) => tillkit(['catalog', 'types', catalog, ...more])
  write('gem')

  const missing = await types('--out', out, '--check')
  await types('--out', out)
  const current = await types('--out', out, '--check')
  writeFileSync(out, readFileSync(out, 'utf8').replaceAll('\n', '\r\n'))
  const onWindows = await types('--out', out, '--check')
  write('ruby')
  const stale = await types('--out', out, '--check')

  assert.deepEqual([missing.code, current.code, onWindows.code, stale.code], [1, 0, 0, 1])
  assert.match(missing.stderr, /catalog\.ts is missing: run this command without --check\n$/)
  assert.match(stale.stderr, /catalog\.ts is stale: run this command without --check\n$/)
  assert.match(readFileSync(out, 'utf8'), /gem/)
})

test('wrong usage and a bad catalog write no types', async (t) => {
  const catalog = join(temporaryFolder(t), 'catalog.json')
  writeFileSync(catalog, '{"stores":[{"store_id":"main","items":[{"name":"a b"},{}]}]}')
  const rows: readonly (readonly [code: number, words: string, said: RegExp])[] = [
    [2, '', /Give either --project ID or a catalog FILE\n/],
    [2, `${catalog} --project prj_1`, /Give either --project ID or a catalog FILE\n/],
    [2, `${catalog} --check`, /--check needs --out FILE\n/],
    [2, `${catalog} --json`, /writes TypeScript/],
    [2, `${catalog} --out ${catalog}`, /would overwrite what this command reads\n/],
    [2, 'none.json', /none\.json: there is no such file/],
    [1, catalog, /has 2 mistakes\n {2}\$\.stores\[0\]\.items\[0\]\.name must be 1 to 255/],
    [1, '--project prj_none', /No project has this id/],
  ]
  for (const [code, words, said] of rows) {
    const args = ['catalog', 'types', ...words.split(' ').filter(Boolean)]
    const done = await tillkit(args, { env: { TILLKIT_DB: 'memory:' } })
    assert.equal(done.code, code, words)
    assert.match(done.stderr + done.stdout, said)
  }
})
