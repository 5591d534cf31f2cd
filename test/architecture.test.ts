import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

/** Each directory or file, and the prefixes of what it may import besides itself. */
const rooms: { readonly [room: string]: string } = {
  'lib/domain/': 'lib/errors.ts',
  'lib/token/': 'lib/bounded-map.ts lib/errors.ts node:crypto node:buffer',
  'lib/csv/': 'lib/domain/ lib/errors.ts',
  'lib/storage/cache/': 'lib/storage/port.ts lib/bounded-map.ts lib/domain/',
  'lib/storage/sql/': 'lib/bounded-map.ts lib/domain/ lib/errors.ts node:',
  'lib/storage/sqlite/':
    'lib/storage/sql/ lib/storage/cache/ lib/bounded-map.ts lib/disk-space.ts lib/domain/ ' +
    'lib/errors.ts lib/round-robin.ts lib/turns.ts node: better-sqlite3',
  'lib/storage/postgres/':
    'lib/storage/sql/ lib/storage/cache/ lib/bounded-map.ts lib/domain/ lib/errors.ts ' +
    'node: postgres',
  'lib/storage/port.ts': 'lib/storage/sql/',
  'lib/storage/': 'lib/errors.ts node:crypto node:timers/promises',
  'lib/services/':
    'lib/domain/ lib/storage/port.ts lib/token/ lib/csv/ lib/bounded-map.ts lib/errors.ts ' +
    'lib/shared-limit.ts lib/turns.ts node:crypto node:timers/promises',
  'lib/till.ts': 'lib/services/ lib/domain/ lib/storage/port.ts lib/token/ lib/errors.ts',
  'lib/errors.ts': '',
  'lib/bounded-map.ts': '',
  'lib/disk-space.ts': 'node:fs',
  'lib/operations.ts': '',
  'lib/round-robin.ts': '',
  'lib/shared-limit.ts': '',
  'lib/turns.ts': 'lib/round-robin.ts lib/shared-limit.ts node:timers/promises',
  'lib/index.ts': 'lib/',
  'http/answers.ts': 'lib/domain/', // types, which the client takes too
  'http/':
    'lib/bounded-map.ts lib/disk-space.ts lib/index.ts lib/operations.ts ' +
    'lib/shared-limit.ts lib/turns.ts node:',
  'cli/': 'conformance/ http/index.ts lib/index.ts lib/operations.ts node:',
  'conformance/': 'http/openapi.ts node:crypto node:timers/promises',
  // Not the index files: their types need those of Node, which a browser's program does not have.
  'client/':
    'http/answers.ts http/faults.ts lib/bounded-map.ts lib/domain/ lib/errors.ts lib/operations.ts',
  // The build bundles the two packages.
  'console/':
    'client/index.ts client/manage.ts client/random.ts lib/csv/parser.ts lib/domain/ preact',
}
const roomOf = (file: string) => Object.keys(rooms).find((room) => file.startsWith(room))

const files = ['lib', 'http', 'cli', 'conformance', 'client', 'console'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file)),
)

const IMPORT = /^(?:import|export)[^'=;]*?from '([^']+)'|\bimport\('([^']+)'\)/gm

function importsOf(file: string): string[] {
  const found = [...readFileSync(file, 'utf8').matchAll(IMPORT)]
  return found.map(([, fixed, dynamic]) => {
    const target = fixed ?? dynamic ?? ''
    return target.startsWith('.') ? relative('.', join(dirname(file), target)) : target
  })
}

test('every file is in a room, and imports only what the room may import', () => {
  assert.ok(files.length > 40)
  const broken = files.flatMap((file) => {
    const room = roomOf(file) ?? assert.fail(file)
    const may = [room, ...(rooms[room] ?? '').split(' ').filter(Boolean)]
    const refused = importsOf(file).filter((target) => !may.some((each) => target.startsWith(each)))
    return refused.map((target) => `${file} -> ${target}`)
  })
  assert.deepEqual(broken, [])
})

test('the client imports only types, and two modules without imports, from other directories', () => {
  const imports = files
    .filter((file) => file.startsWith('client/'))
    .flatMap((file) => readFileSync(file, 'utf8').match(/^\w+port[^'=;]*from '\.\.\//gm) ?? [])
  assert.ok(imports.length > 0)
  assert.deepEqual(
    imports.filter((each) => !/^(import|export) type /.test(each)),
    ["import { BoundedMap } from '../", "import { type Operation, operations } from '../"],
  )
})

test('there are no import cycles, type imports included', () => {
  const open = new Set<string>()
  const done = new Set<string>()
  const visit = (file: string): void => {
    assert.ok(!open.has(file), `a cycle: ${[...open, file].join(' -> ')}`)
    if (done.has(file)) return
    open.add(file)
    for (const target of importsOf(file).filter((each) => files.includes(each))) visit(target)
    open.delete(file)
    done.add(file)
  }
  for (const file of files) visit(file)
})

test('the only imports from outside are Node itself and the optional drivers', () => {
  const outside = files
    .filter((file) => !file.startsWith('console/'))
    .flatMap(importsOf)
    .filter((target) => !/^(lib|http|cli|conformance|client)\//.test(target))
  const builtIn = (target: string) =>
    target === 'node:sqlite' || builtinModules.includes(target.replace(/^node:/, ''))
  const packages = new Set(outside.filter((target) => !builtIn(target)))
  assert.deepEqual([...packages].sort(), ['better-sqlite3', 'postgres'])
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  assert.equal(manifest.dependencies, undefined)
})

test('only cli/main.ts reads the environment, and the domain reads no clock', () => {
  const reading = files.filter((file) => /process\.env/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(reading, ['cli/main.ts'])
  const impure = files
    .filter((file) => file.startsWith('lib/domain/'))
    .filter((file) => /Date\.now|Math\.random|new Date\(\)/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(impure, [])
})

test('a file of the tests is a test, or a helper in test/support', () => {
  const others = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.m?[jt]sx?$/.test(file) && !/^(node_modules|support)\W/.test(file))
    .filter((file) => !file.endsWith('.test.ts'))
  assert.deepEqual(others, [])
})

test('no object or array is written only to be spread: each property has a line of its own', () => {
  const spreads = files.flatMap((file) => {
    const found = readFileSync(file, 'utf8').match(/\.\.\.(\{|\[[^[\]]*\](?![.[]))/g) ?? []
    return found.map((spread) => `${file}: ${spread}`)
  })
  assert.deepEqual(spreads, [])
})

/** Finds the functions that have more than one line: all of their lines, the indentation, the name. */
const FUNCTION =
  /^(?=(( *)(?:export |async |const )*(?:function\*? )?\*?(\w+)[^\n]*\((?:[^\n]*|\n(?:\2 [^\n]*\n)*\2\)[^\n]*) \{\n(?:\2 [^\n]*\n|\n)*\2\}))/gm

test('no function of a service has more than 50 lines, except those that create a service', () => {
  const found = files
    .filter((file) => file.startsWith('lib/services/'))
    .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(FUNCTION)])
    .map(([, lines = '', , name = '']) => ({ name, length: lines.split('\n').length }))
  assert.ok(found.length > 100)
  const long = found.filter(({ length }) => length > 50)
  assert.ok(long.length > 0)
  assert.deepEqual(
    long.filter(({ name }) => !name.startsWith('create')),
    [],
  )
})
