import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

/** What the files of a room may import: prefixes of project paths, built-ins and package names. */
const rooms: { readonly room: string; readonly may: readonly string[] }[] = [
  { room: 'lib/domain/', may: ['lib/domain/', 'lib/errors.ts'] },
  { room: 'lib/token/', may: ['lib/token/', 'lib/errors.ts', 'node:crypto', 'node:buffer'] },
  { room: 'lib/csv/', may: ['lib/csv/', 'lib/domain/', 'lib/errors.ts'] },
  {
    room: 'lib/storage/',
    may: ['lib/storage/', 'lib/domain/', 'lib/errors.ts', 'node:', 'better-sqlite3', 'postgres'],
  },
  {
    room: 'lib/services/',
    may: [
      'lib/services/',
      'lib/domain/',
      'lib/storage/port.ts',
      'lib/storage/pages.ts',
      'lib/token/',
      'lib/csv/',
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
  { room: 'lib/index.ts', may: ['lib/'] },
  { room: 'http/', may: ['http/', 'lib/index.ts', 'node:'] },
  { room: 'cli/', may: ['cli/', 'http/index.ts', 'lib/index.ts', 'node:'] },
]

const files = ['lib', 'http', 'cli'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
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

test('every file imports only what its room may', () => {
  const broken = files.flatMap((file) => {
    const { may } = rooms.find(({ room }) => file.startsWith(room)) ?? { may: [] }
    const refused = importsOf(file).filter((target) => !may.some((each) => target.startsWith(each)))
    return refused.map((target) => `${file} -> ${target}`)
  })
  assert.deepEqual(broken, [])
})

test('every file stands in a room', () => {
  const lost = files.filter((file) => !rooms.some(({ room }) => file.startsWith(room)))
  assert.deepEqual(lost, [])
  assert.ok(files.length > 40)
})

test('nothing is imported at run time but Node itself and the optional drivers', () => {
  const outside = files.flatMap(importsOf).filter((target) => !/^(lib|http|cli)\//.test(target))
  const builtIn = (target: string) =>
    target === 'node:sqlite' || builtinModules.includes(target.replace(/^node:/, ''))
  const packages = new Set(outside.filter((target) => !builtIn(target)))
  assert.deepEqual([...packages].sort(), ['better-sqlite3', 'postgres'])
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  assert.equal(manifest.dependencies, undefined)
})

test('only the configuration of the CLI reads the environment, and the library no clock in its domain', () => {
  const reading = files.filter((file) => /process\.env/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(reading, ['cli/main.ts'])
  const impure = files
    .filter((file) => file.startsWith('lib/domain/'))
    .filter((file) => /Date\.now|Math\.random|new Date\(\)/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(impure, [])
})
