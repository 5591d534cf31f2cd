import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { temporaryFolder } from '../support/folder.ts'

test('the client is one file without imports, of at most 6 KiB gzipped', () => {
  const file = readFileSync('dist/client/index.js')
  const scripts = readdirSync('dist/client').filter((name) => name.endsWith('.js'))

  assert.deepEqual(scripts.sort(), ['index.js', 'manage.js'])
  assert.doesNotMatch(file.toString(), /\bfrom\s*["']|\bimport\s*[{*]|\brequire\(|["']node:/)
  const size = gzipSync(file, { level: 9 }).length
  assert.ok(size <= 6 * 1024, `${size} bytes`)
})

test('the types of the client need those of a browser, not those of Node', (t) => {
  const folder = temporaryFolder(t)
  const program = `
    import { createClient, type Item, TillError } from 'tillkit/client'
    const till = createClient({ url: 'https://shop.example', publicKey: 'pk_1', userId: 'player' })
    export const items: Promise<readonly Item[]> = till.items.list({ store_id: 'main' }).then(
      ({ items }) => items,
    )
    export const isTaken = (error: unknown) =>
      error instanceof TillError && error.details.some(({ code }) => code === 'taken')
    // @ts-expect-error: a price is a string
    till.items.create({ store_id: 'main', name: 'a', display_name: 'A', type: 'consumable', price: 1 })
  `
  const manageProgram = `
    import { createManageClient, type Item } from 'tillkit/client/manage'
    const manage = createManageClient({ url: 'https://shop.example', accountKey: 'ak_1' })
    export const items: Promise<readonly Item[]> = manage.items.list({ store_id: 'main' }).then(
      ({ items }) => items,
    )
    // @ts-expect-error: a query needs its store
    manage.items.list({ limit: 1 })
  `
  writeFileSync(join(folder, 'program.ts'), program)
  writeFileSync(join(folder, 'manage.ts'), manageProgram)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  symlinkSync(process.cwd(), join(folder, 'tillkit'), 'junction')
  const options = { strict: true, noEmit: true, skipDefaultLibCheck: true, target: 'es2022' }
  const browser = { lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'] }
  const paths = {
    'tillkit/client': ['./tillkit/dist/client/index.d.ts'],
    'tillkit/client/manage': ['./tillkit/dist/client/manage.d.ts'],
  }
  const compilerOptions = { ...options, ...browser, types: [], paths, module: 'esnext' }
  const config = { compilerOptions: { ...compilerOptions, moduleResolution: 'bundler' } }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ ...config, files: ['program.ts', 'manage.ts'] }),
  )

  const tsc = join(process.cwd(), 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })

  assert.deepEqual([status, stdout], [0, ''])
})
