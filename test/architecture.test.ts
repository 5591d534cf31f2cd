import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

/** The import rules: each directory or file, and the prefixes of the targets that it may import. */
const rooms: { readonly room: string; readonly may: readonly string[] }[] = [
  { room: 'lib/domain/', may: ['lib/domain/', 'lib/errors.ts'] },
  {
    room: 'lib/token/',
    may: ['lib/token/', 'lib/bounded-map.ts', 'lib/errors.ts', 'node:crypto', 'node:buffer'],
  },
  { room: 'lib/csv/', may: ['lib/csv/', 'lib/domain/', 'lib/errors.ts'] },
  {
    room: 'lib/storage/',
    may: [
      'lib/storage/',
      'lib/bounded-map.ts',
      'lib/domain/',
      'lib/errors.ts',
      'lib/threads.ts',
      'node:',
      'better-sqlite3',
      'postgres',
    ],
  },
  {
    room: 'lib/services/',
    may: [
      'lib/services/',
      'lib/domain/',
      'lib/storage/port.ts',
      'lib/storage/open-import.ts',
      'lib/storage/pages.ts',
      'lib/storage/pseudonym.ts',
      'lib/token/',
      'lib/csv/',
      'lib/bounded-map.ts',
      'lib/errors.ts',
      'node:crypto',
      'node:timers/promises',
    ],
  },
  {
    room: 'lib/till.ts',
    may: ['lib/services/', 'lib/domain/', 'lib/storage/port.ts', 'lib/token/', 'lib/errors.ts'],
  },
  { room: 'lib/errors.ts', may: [] },
  { room: 'lib/bounded-map.ts', may: [] },
  { room: 'lib/operations.ts', may: [] },
  { room: 'lib/threads.ts', may: ['node:'] },
  { room: 'lib/index.ts', may: ['lib/'] },
  {
    room: 'http/',
    may: ['http/', 'lib/bounded-map.ts', 'lib/index.ts', 'lib/operations.ts', 'node:'],
  },
  {
    room: 'cli/',
    may: ['cli/', 'http/index.ts', 'lib/index.ts', 'lib/operations.ts', 'node:'],
  },
  // Not the index files: their types need those of Node, which a browser's program does not have.
  {
    room: 'client/',
    may: [
      'client/',
      'http/faults.ts',
      'lib/bounded-map.ts',
      'lib/domain/',
      'lib/errors.ts',
      'lib/operations.ts',
    ],
  },
  // The build bundles the two packages.
  {
    room: 'console/',
    may: [
      'console/',
      'client/index.ts',
      'client/manage.ts',
      'client/random.ts',
      'lib/domain/',
      'preact',
    ],
  },
]

const files = ['lib', 'http', 'cli', 'client', 'console'].flatMap((folder) =>
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

test('every file imports only what its directory may import', () => {
  const broken = files.flatMap((file) => {
    const { may } = rooms.find(({ room }) => file.startsWith(room)) ?? { may: [] }
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
    ["import { BoundedMap } from '../", "import { fieldOf, type Operation, operations } from '../"],
  )
})

test('every file has an import rule', () => {
  const lost = files.filter((file) => !rooms.some(({ room }) => file.startsWith(room)))
  assert.deepEqual(lost, [])
  assert.ok(files.length > 40)
})

test('there are no import cycles, type imports included', () => {
  assert.deepEqual(findCycles(), [])
})

/** Groups of files that reach each other by imports. */
function findCycles(): string[][] {
  const targets = new Map(files.map((file) => [file, importsOf(file)]))
  const reached = new Map(files.map((file) => [file, reachableFrom(file, targets)]))
  const reaches = (from: string, to: string) => reached.get(from)?.has(to) ?? false
  const isFirst = (file: string, i: number) =>
    reaches(file, file) &&
    !files.slice(0, i).some((each) => reaches(each, file) && reaches(file, each))
  return files
    .filter(isFirst)
    .map((file) => files.filter((each) => reaches(file, each) && reaches(each, file)))
}

function reachableFrom(file: string, targets: ReadonlyMap<string, string[]>): Set<string> {
  const reached = new Set<string>()
  const left = [...(targets.get(file) ?? [])]
  for (let target = left.pop(); target !== undefined; target = left.pop()) {
    if (reached.has(target)) continue
    reached.add(target)
    left.push(...(targets.get(target) ?? []))
  }
  return reached
}

test('the only imports from outside are Node itself and the optional drivers', () => {
  const outside = files
    .filter((file) => !file.startsWith('console/'))
    .flatMap(importsOf)
    .filter((target) => !/^(lib|http|cli|client)\//.test(target))
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
