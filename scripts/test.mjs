// Runs the tests: `node scripts/test.mjs`. Words choose files: `node scripts/test.mjs http/items csv/`.
// With `--soak` it runs the files whose tests wait for long (test/support/soak.ts), those that run on
// PostgreSQL too (test/support/databases.ts), and those with generated input, from a new seed. With
// `--runtime` it runs only what another version of Node or its SQLite driver may change.
//
// Each file has a process of its own. The first line of a file may say how it runs:
//   // run: early      it takes long, so it starts before the others
//   // run: runtime    `--runtime` runs it
//   // run: soak       `--soak` runs it, though no import shows it
//   // run: named      only a word runs it
import './driver.mjs'
import './test-tools.mjs'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { run } from 'node:test'
import { compile, sources } from './compile.mjs'
import { report } from './reporter.mjs'

const OPTIONS = ['--soak', '--runtime']

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const unknown = process.argv.find((word) => word.startsWith('--') && !OPTIONS.includes(word))
if (unknown) throw new TypeError(`${unknown} is not one of ${OPTIONS.join(', ')}`)
const isSoak = process.argv.includes('--soak')
const isRuntime = process.argv.includes('--runtime')
if (isSoak) {
  process.env.TILLKIT_TEST_SOAK = 'yes'
  process.env.FUZZ_SEED ??= String(randomInt(2 ** 31))
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
// A file that takes longer fails: see test/support/whole.ts. On two cores, the longest takes 70 s.
const fileMs = isSoak ? 900_000 : 300_000
process.env.TILLKIT_TEST_FILE_MS = String(fileMs)
process.execArgv.push('--disable-warning=ExperimentalWarning') // of each file: for mocked timers
useMemoryForFiles()

const tests = sources('test')
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => readTest(file))
  .filter(isWanted)
  .sort((a, b) => b.isEarly - a.isEarly || (a.file < b.file ? -1 : 1))
if (tests.length === 0) throw new TypeError(`no test file has a name with ${words.join(' or ')}`)
const compiled = await compile(tests.map(({ file }) => file))
const scriptOf = (file) => join(compiled, file.replace(/\.ts$/, '.js'))
const postgres = await startPostgres()

const events = run({
  files: tests.map(({ file }) => scriptOf(file)),
  // Two more than the processors, because many tests wait for processes and timers.
  concurrency: availableParallelism() + 2,
  timeout: fileMs + 10_000, // of a file that is blocked and cannot fail by itself
})
events.on('test:fail', () => {
  process.exitCode = 1
})
for await (const text of report(events, compiled)) process.stdout.write(text)
await postgres?.stop()
if (process.exitCode && isSoak)
  console.log(`The seed of generated input: FUZZ_SEED=${process.env.FUZZ_SEED}`)

function readTest(file) {
  const text = readFileSync(file, 'utf8')
  const [, schedule = ''] = /^\/\/ run: (.*)/.exec(text) ?? []
  return {
    file,
    isEarly: schedule.includes('early'),
    isNamed: schedule.includes('named'),
    isRuntime: schedule.includes('runtime'),
    isSoak: schedule.includes('soak') || /support\/(databases|random|seeds|soak)\.ts/.test(text),
    usesPostgres: /startPostgres|testOnEach|allTargets|allPlaces/.test(text),
  }
}

function isWanted(test) {
  if (words.length > 0 && !words.some((word) => test.file.includes(word))) return false
  if (isSoak) return test.isSoak
  if (isRuntime) return test.isRuntime
  return words.length > 0 || !test.isNamed
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
  const users = tests.filter(({ usesPostgres }) => usesPostgres)
  if (users.length < 2 || process.env.TILLKIT_TEST_PG) return undefined
  const server = spawn(process.execPath, [scriptOf('test/support/run-cluster.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(server, 'close')
  const [url] = await Promise.race([once(createInterface(server.stdout), 'line'), closed])
  if (typeof url === 'string') process.env.TILLKIT_TEST_RUN_PG = url
  return {
    async stop() {
      server.stdin.end()
      await closed
    },
  }
}
