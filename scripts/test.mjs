// Runs the suite, or the files named: `node scripts/test.mjs test/http/items.test.ts`. With
// `--runtime` it passes over what another Node or SQLite driver can not change.
// Files are listed here because `node --test` takes globs only from Node 21 on.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { compile } from './compile.mjs'

/** About the documents, the package or PostgreSQL alone, which no SQLite driver has a part in. */
const SAME_EVERYWHERE = [
  /^test\/(architecture|deploy|readme)\.test/,
  /^test\/domain\//,
  /^test\/storage\/postgres/,
  /^test\/support\//,
]

const named = process.argv.slice(2).filter((word) => word !== '--runtime')
const skipped = process.argv.includes('--runtime') ? SAME_EVERYWHERE : []
const found = readdirSync('test', { recursive: true })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .filter((file) => !skipped.some((pattern) => pattern.test(file)))
  .sort()
const files = named.length ? named : found
useMemoryForFiles()
const compiled = await compile()
const scriptOf = (file) => join(compiled, file.replace(/\.ts$/, '.js'))
// Node's own default is one less: on two cores, one file after the other.
const concurrency = Math.max(2, availableParallelism())

const postgres = await startPostgres()
const options = [
  ...['--enable-source-maps', '--test', '--test-timeout=900000'],
  ...[`--test-concurrency=${concurrency}`, '--test-reporter=./scripts/reporter.mjs'],
]
const tests = spawn(process.execPath, [...options, ...files.map(scriptOf)], {
  stdio: 'inherit',
  env: { ...process.env, TILLKIT_TEST_COMPILED: compiled, ...postgres?.env },
})
process.on('SIGINT', () => {}) // from a terminal, which sends it to the tests too
process.on('SIGTERM', () => tests.kill('SIGTERM'))
const [code] = await once(tests, 'close')
await postgres?.stop()
process.exit(code ?? 1)

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
  const users = files.filter((file) => /startPostgres|allTargets/.test(readFileSync(file, 'utf8')))
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
