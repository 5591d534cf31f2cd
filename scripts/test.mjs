// Runs the tests: `node scripts/test.mjs`. Words choose files: `node scripts/test.mjs http/items csv/`.
// With `--soak` it runs the files whose tests wait for long (test/support/soak.ts), those that run on
// PostgreSQL too (test/support/databases.ts), and those with generated input, from a new seed. With
// `--runtime` it runs only what another version of Node or its SQLite driver may change. The tests of
// the package are a step of their own: `npm run test:package`.
// Files are listed here because `node --test` takes globs only from Node 21 on.
import './test-tools.mjs'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { compile, sources } from './compile.mjs'

/** What depends on the version of Node or on its SQLite driver. */
const RUNTIME = [
  /^test\/storage\/(archive|cache|faults|import|long-imports|queue|records|sqlite|writes)/,
  /^test\/model/,
  /^test\/http\/(endpoints|expectation|hostile|import|transport)\.test/,
  /^test\/cli\/(commands|serve|workers)\.test/,
]

/** The longest start first, each in another process. */
const LONGEST = [
  /^test\/(readme|console)/,
  /^test\/http\/(servers|faults-kill|quotas)/,
  /^test\/storage\/(cache|interrupted|postgres)/,
  /^test\/(model|services\/(interleaving|purchases|webhook))/,
]

/** These measure or change their process. */
const ALONE = [
  /^test\/(library-docs|readme)\./, // the working directory
  /^test\/http\/(over-fetch|ratelimit)\./, // the environment, the heap
  /^test\/csv\/parser\./, // the heap
]

const CONSOLE = /^test\/console/

/** The other files share at most so many processes: a start takes 1 s of CPU time. */
const PROCESSES = 5

const words = process.argv.slice(2)
const isSoak = takeFlag('--soak')
const isRuntime = takeFlag('--runtime')
if (isSoak) {
  process.env.TILLKIT_TEST_SOAK = 'yes'
  process.env.FUZZ_SEED ??= String(randomInt(2 ** 31))
}
const files = sources('test')
  .filter((file) => file.endsWith('.test.ts') && isWanted(file))
  .sort()
if (files.length === 0) throw new TypeError(`no test file has a name with ${words.join(' or ')}`)
useMemoryForFiles()
const compiled = await compile()
const scriptOf = (file) => join(compiled, file.replace(/\.ts$/, '.js'))
// Two more than the processors, because many tests wait for processes and timers.
const concurrency = availableParallelism() + 2

const postgres = await startPostgres()
// A soak test measures processes, so it has one of its own.
const areAlone = isSoak || words.length > 0
const groups = areAlone ? new Map() : writeGroups()
const code = await run(areAlone ? files.map(scriptOf) : [...groups.keys()])
const crashed = [...groups.keys()].filter((entry) => existsSync(`${entry}.crashed`))
if (crashed.length) {
  process.stdout.write('\nA process of several files crashed. Each of them runs again alone:\n')
  await run(crashed.flatMap((entry) => groups.get(entry)))
}
await postgres?.stop()
if (code !== 0 && isSoak)
  console.log(`The seed of generated input: FUZZ_SEED=${process.env.FUZZ_SEED}`)
process.exit(code)

function takeFlag(flag) {
  const index = words.indexOf(flag)
  if (index >= 0) words.splice(index, 1)
  return index >= 0
}

function isWanted(file) {
  if (words.length > 0 && !words.some((word) => file.includes(word))) return false
  if (isSoak) return /support\/(databases|random|seeds|soak)\.ts/.test(readFileSync(file, 'utf8'))
  if (isRuntime) return RUNTIME.some((pattern) => pattern.test(file))
  return words.length > 0 || !file.startsWith('test/package/')
}

async function run(scripts) {
  const options = [
    '--test',
    '--test-timeout=1800000',
    '--max-semi-space-size=64', // fewer collections: 7 % less CPU time
    `--test-concurrency=${concurrency}`,
    '--test-reporter=./scripts/reporter.mjs',
  ]
  const tests = spawn(process.execPath, [...options, ...scripts], {
    stdio: 'inherit',
    env: { ...process.env, TILLKIT_TEST_COMPILED: compiled, ...postgres?.env },
  })
  const stop = () => tests.kill('SIGTERM')
  process.on('SIGINT', () => {}) // from a terminal, which sends it to the tests too
  process.once('SIGTERM', stop)
  const [code] = await once(tests, 'close')
  process.off('SIGTERM', stop)
  return code ?? 1
}

/**
 * Writes a module for each process, and maps it to the files that it runs. `node --test` runs them
 * in the order of their names.
 */
function writeGroups() {
  const folder = join(compiled, 'run')
  mkdirSync(folder)
  const loader = JSON.stringify(resolve('scripts/test-group.mjs'))
  const entries = groupsOf(files).map((group, index) => {
    const entry = join(folder, `${String(index).padStart(3, '0')}.js`)
    const scripts = group.map(scriptOf)
    const load = `await loadGroup(${JSON.stringify(scripts)})`
    writeFileSync(entry, `import { loadGroup } from ${loader}\n${load}\n`)
    return [entry, scripts]
  })
  return new Map(entries)
}

/** Deals the files to the processes. Each process starts with its longest file. */
function groupsOf(files) {
  const rank = (file) => LONGEST.findIndex((pattern) => pattern.test(file)) >>> 0 // -1 is last
  const groups = files
    .filter((file) => ALONE.some((pattern) => pattern.test(file)))
    .map((file) => [file])
  const shared = files.filter((file) => !groups.flat().includes(file))
  const count = Math.min(PROCESSES, Math.ceil(shared.length / 4))
  const dealt = Array.from({ length: count }, () => [])
  for (const file of shared.toSorted((a, b) => rank(a) - rank(b))) {
    // The files of the console share a browser.
    const before = dealt.find(([first = '']) => CONSOLE.test(first) && CONSOLE.test(file))
    const next = before ?? dealt.reduce((a, b) => (b.length < a.length ? b : a))
    next.push(file)
  }
  return [...dealt, ...groups]
    .filter(({ length }) => length > 0)
    .toSorted(([a], [b]) => rank(a) - rank(b))
}

/**
 * Puts the temporary files of the run into memory where there is room, because tests wait for a
 * disk as long as they compute.
 */
function useMemoryForFiles() {
  if (process.env.TMPDIR || !hasRoom('/dev/shm')) return
  const folder = mkdtempSync('/dev/shm/tillkit-run-')
  chmodSync(folder, 0o755) // PostgreSQL runs as another user
  process.env.TMPDIR = folder
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
}

function hasRoom(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 4 * 2 ** 30
  } catch {
    return false
  }
}

/** One PostgreSQL for all files that use one; undefined where none or a single one does. */
async function startPostgres() {
  const users = files.filter((file) =>
    /startPostgres|testOnEach|allTargets|allPlaces/.test(readFileSync(file, 'utf8')),
  )
  if (users.length < 2 || process.env.TILLKIT_TEST_PG) return undefined
  const server = spawn(process.execPath, [scriptOf('test/support/run-cluster.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(server, 'close')
  const [url] = await Promise.race([once(createInterface(server.stdout), 'line'), closed])
  return {
    env: typeof url === 'string' ? { TILLKIT_TEST_RUN_PG: url } : {},
    async stop() {
      server.stdin.end()
      await closed
    },
  }
}
