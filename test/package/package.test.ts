// run: named
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { temporaryFolder } from '../support/folder.ts'
import { blocksOf } from '../support/pages.ts'

const run = promisify(execFile)
const manifest = JSON.parse(readFileSync('package.json', 'utf8'))

/** A project in an empty folder, in which the packed file is installed without the network. */
const project = temporaryFolder({ after })
writeFileSync(join(project, 'package.json'), '{"type":"module"}')
const tarball = pack()
const installed = join(project, 'node_modules/tillkit')
// Starts first, because it takes as long as the other tests together.
const attw = run(resolve('test/node_modules/.bin/attw'), [
  tarball,
  '--profile',
  'esm-only',
  '--format',
  'json',
])
attw.catch(() => {}) // its test reports the failure
npm('install', '--offline', '--no-audit', '--no-fund', tarball)

/** Packs `dist` as it is. The build before the tests made it. */
function pack(): string {
  const output = npm('pack', resolve('.'), '--ignore-scripts', '--json')
  return join(project, JSON.parse(output)[0].filename)
}

function npm(...args: string[]): string {
  const stdio = ['ignore', 'pipe', 'ignore'] as const
  return execFileSync('npm', args, { cwd: project, encoding: 'utf8', stdio: [...stdio] })
}

function filesOf(folder: string, ending: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith(ending)).map((file) => join(folder, file))
}

test('publint reports nothing', async () => {
  const { buffer } = new Uint8Array(readFileSync(tarball))
  const { messages } = await publint({ pack: { tarball: buffer }, strict: true })
  assert.deepEqual(messages, [])
})

test('npx tillkit and all exports work without other packages', async () => {
  const packages = readdirSync(join(project, 'node_modules'))
  assert.deepEqual(
    packages.filter((name) => !name.startsWith('.')),
    ['tillkit'],
  )
  assert.equal(npm('exec', '--offline', '--', 'tillkit', '--version').trim(), manifest.version)
  const program = `
    import { createMemoryStorage, createTill } from 'tillkit'
    import { createHandler } from 'tillkit/http'
    import { createClient } from 'tillkit/client'
    import document from 'tillkit/openapi.json' with { type: 'json' }
    import manifest from 'tillkit/package.json' with { type: 'json' }
    createClient({ url: 'https://shop.example', publicKey: 'pk_1', userId: 'player' })
    console.log(document.info.version, manifest.version)
    try {
      createHandler(createTill({ storage: createMemoryStorage() }), { docs: true })
    } catch (error) {
      console.log(error.message)
    }
  `
  writeFileSync(join(project, 'program.mjs'), program)
  const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: project })
  const [versions, refusal] = stdout.trimEnd().split('\n')
  assert.equal(versions, `${manifest.version} ${manifest.version}`)
  // Only a Node without its own SQLite needs a driver.
  if (process.getBuiltinModule('node:sqlite')) assert.equal(refusal, undefined)
  else
    assert.match(refusal ?? '', /^No SQLite driver: use Node 22\.13 or later, or install better-/)
})

/** The compiler of this project, and the oldest one for which the package has types. */
const compilers = [
  ['node_modules/.bin/tsc', '--singleThreaded'],
  ['test/node_modules/typescript-oldest/bin/tsc'],
] as const

test('the types compile in a strict project, with and without those of Node', async () => {
  const { dependencies } = JSON.parse(readFileSync('test/package.json', 'utf8'))
  const [, oldest] = /@(\d+\.\d+)/.exec(dependencies['typescript-oldest']) ?? []
  assert.ok(readFileSync('README.md', 'utf8').includes(`TypeScript ${oldest}`))
  const types = join(project, 'node_modules/@types')
  mkdirSync(types)
  for (const name of ['node', '../undici-types']) {
    symlinkSync(resolve('node_modules/@types', name), join(types, name), 'junction')
  }
  const server = `
    import { createServer } from 'node:http'
    import { createMemoryStorage, createTill, type Item, TillError } from 'tillkit'
    import { createHandler, type HandlerOptions } from 'tillkit/http'
    import document from 'tillkit/openapi.json' with { type: 'json' }
    const options: HandlerOptions = { basePath: '/shop' }
    const till = createTill({ storage: createMemoryStorage() })
    createServer(createHandler(till, options))
    export const find = (id: string): Promise<Item | undefined> =>
      till.accounts.get(id).then(
        () => undefined,
        (error) => { throw error instanceof TillError ? new Error(error.code) : error },
      )
    export const version: string = document.info.version
    // @ts-expect-error: there is no such option
    createHandler(till, { prefix: '/shop' })
  `
  const browser = `
    import { createClient, TillError } from 'tillkit/client'
    import { createManageClient } from 'tillkit/client/manage'
    const till = createClient({ url: 'https://shop.example', publicKey: 'pk_1', userId: 'player' })
    export const isFull = (error: unknown) =>
      error instanceof TillError && error.code === 'body_too_large'
    // @ts-expect-error: there is no such code
    export const isOdd = (error: TillError) => error.code === 'body_too_odd'
    export const name: Promise<string> = till.items.get('itm_1').then((item) => item.name)
    // @ts-expect-error: a price is a string
    till.items.create({ store_id: 'main', name: 'a', display_name: 'A', type: 'consumable', price: 1 })
    const manage = createManageClient({ url: 'https://shop.example', accountKey: 'ak_1' })
    export const names: Promise<string[]> = manage.items.list({ store_id: 'main' }).then(
      ({ items }) => items.map((item) => item.name),
    )
    // @ts-expect-error: a query needs its store
    manage.items.list({ limit: 1 })
  `
  const [embedded = ''] = blocksOf(readFileSync('README.md', 'utf8'), 'js')
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
  // Checks the declarations of the package, but not those of TypeScript itself.
  const checked = { skipLibCheck: false, skipDefaultLibCheck: true }
  const common = { ...strict, ...checked, noEmit: true, resolveJsonModule: true }
  const configs = {
    readme: [
      embedded,
      { module: 'nodenext', target: 'es2023', types: ['node'], noUncheckedIndexedAccess: false },
    ],
    server: [server, { module: 'nodenext', target: 'es2023', types: ['node'] }],
    browser: [
      browser,
      { module: 'esnext', moduleResolution: 'bundler', types: [], lib: ['es2022', 'dom'] },
    ],
  } as const
  for (const [name, [source, options]] of Object.entries(configs)) {
    writeFileSync(join(project, `${name}.ts`), source)
    const config = { compilerOptions: { ...common, ...options }, files: [`${name}.ts`] }
    writeFileSync(join(project, `${name}.json`), JSON.stringify(config))
    for (const [compiler, ...words] of compilers) {
      const args = ['-p', `${name}.json`, ...words]
      const compiled = run(resolve(compiler), args, { cwd: project })
      const { stdout } = await compiled.catch((error) => error)
      assert.equal(stdout, '', `${name}: ${compiler}`)
    }
  }
})

test('every declaration has a map, and leads to a packed source', () => {
  const declarations = filesOf(join(installed, 'dist'), '.d.ts')
  assert.ok(declarations.length > 200, String(declarations.length))
  for (const file of declarations) {
    const { sources } = JSON.parse(readFileSync(`${file}.map`, 'utf8'))
    assert.ok(sources.length > 0, file)
    for (const source of sources) assert.ok(existsSync(join(dirname(file), source)), source)
  }
})

test('every link of the packed pages leads to a packed file', () => {
  const pages = [...filesOf(join(installed, 'docs'), '.md'), join(installed, 'README.md')]
  assert.ok(pages.length > 10, String(pages.length))
  const broken = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)\s#]+)[^)\s]*\)/g)]
      .filter(([, link = '']) => !existsSync(join(dirname(page), link)))
      .map(([link]) => `${page}: ${link}`),
  )
  assert.deepEqual(broken, [])
})

test('attw reports nothing for programs in ESM', async () => {
  const { stdout } = await attw
  const { analysis } = JSON.parse(stdout)
  assert.deepEqual(Object.keys(analysis.entrypoints), Object.keys(manifest.exports))
})
