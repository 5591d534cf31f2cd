// Shared by all subjects over HTTP: a seeded database, and servers in their own processes.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import * as ours from '../dist/lib/index.js'
import { SKUS } from './files.mjs'

const MAIN = 'dist/cli/main.js'
export const serveHelp = spawnSync(process.execPath, [MAIN, 'serve', '--help']).stdout.toString()
const quiet = [['--quiet'], ['--log', 'off']].find(([flag]) => serveHelp.includes(flag)) ?? []

/** Calls `work` with a temporary folder, and deletes the folder afterwards. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'tillkit-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Creates a database with one project and the store `main` of 100 items; returns its keys. `library`
 * is that of another version.
 */
export async function seed(db, tokenCount = 1, library = ours) {
  const till = library.createTill({ storage: await openStorage(db, library) })
  const account = await till.accounts.create({ name: 'Bench' })
  const { account_id, account_key } = account
  const game = { account_id, name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
  const project = await till.projects.create(account, game)
  await till.stores.create(account, { project_id: project.id, store_id: 'main', store_type: 'web' })
  const items = []
  for (const name of SKUS) {
    const text = { display_name: `Pack ${name}`, description: `All that is in ${name}, at once` }
    const rest = { price: '499', type: 'consumable', meta: { icon: `${name}.png`, stack: 99 } }
    items.push((await till.items.create(account, { store_id: 'main', name, ...text, ...rest })).id)
  }
  const tokens = []
  for (let i = 0; i < tokenCount; i++) {
    tokens.push((await till.sessions.token(project.public_key, { user_id: `player_${i}` })).token)
  }
  await till.close()
  return { account_key, public_key: project.public_key, items, tokens, token: tokens[0] }
}

function openStorage(db, { openPostgresStorage, openSqliteStorage }) {
  return db.startsWith('postgres:') ? openPostgresStorage(db) : openSqliteStorage(db)
}

export function removeDatabase(db) {
  for (const suffix of ['', '-wal', '-shm']) rmSync(db + suffix, { force: true })
}

/** Our server with default settings but without a log, since the rivals write none. */
export function startTillkit(db, ...options) {
  return startTillkitOf('.', db, ...options)
}

/** Our server with default settings, which writes its log to this file. */
export function startLoggingTillkit(db, file = '/dev/null') {
  return startServer(MAIN, ['serve', '--port', '0', '--db', db], file)
}

/** The server of another tree. */
export function startTillkitOf(tree, db, ...options) {
  const args = ['serve', '--port', '0', '--db', db, ...quiet, ...options]
  return startServer(join(tree, MAIN), args)
}

/** Starts a Node process that prints its address as its first line, and its log to a file. */
export async function startServer(script, args = [], file = '/dev/null') {
  const log = openSync(file, 'a')
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', log],
    // The items of `fill` are more than the default quota.
    env: { ...process.env, NODE_ENV: 'production', TILLKIT_QUOTA_ITEMS: '999999999' },
  })
  closeSync(log)
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })
  const first = await Promise.race([once(lines, 'line'), ended])
  const url = /http:\S+/.exec(first[0])?.[0]
  if (url === undefined) throw new Error(`${script} ${args.join(' ')} did not start`)
  return {
    url,
    pid: child.pid,
    /** Its memory in MiB: `VmRSS` is the current one, `VmHWM` the peak. */
    memory(name) {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024
    },
    cpu: () => threadTimes(child.pid),
    /** The CPU time of its main thread, without the sender of webhooks and garbage collection. */
    mainCpu: () => processorTime(`${child.pid}/task/${child.pid}`),
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async stop() {
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** The CPU time of the threads of a process so far in µs, exact unless the kernel lacks `sched`. */
function threadTimes(pid) {
  const files = readdirSync(`/proc/${pid}/task`).map((id) => `/proc/${pid}/task/${id}/sched`)
  if (!existsSync(files[0])) return processorTime(pid)
  const milliseconds = files.map((file) =>
    Number(/sum_exec_runtime\s*:\s*([\d.]+)/.exec(readFileSync(file, 'utf8'))[1]),
  )
  return milliseconds.reduce((sum, each) => sum + each) * 1000
}

/**
 * The CPU time of a process so far in µs, optionally with its ended children. Linux counts in ticks
 * of 10 ms.
 */
export function processorTime(pid, { children = false } = {}) {
  const [, after] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const ticks = after.split(' ').slice(11, children ? 15 : 13)
  return ticks.reduce((sum, each) => sum + Number(each), 0) * 10_000
}

/** Sends a request and returns the answer. Throws unless the status is 200 or the expected one. */
export async function call(url, { method = 'GET', path, headers, body }, expected = 200) {
  const outgoing = httpRequest(new URL(path, url), { method, headers })
  outgoing.end(body)
  return answerOf(outgoing, expected)
}

export async function answerOf(outgoing, expected = 200) {
  const [response] = await once(outgoing, 'response')
  const chunks = []
  for await (const chunk of response) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  if (response.statusCode !== expected) {
    throw new Error(`${outgoing.path}: ${response.statusCode}: ${text.slice(0, 500)}`)
  }
  return { headers: response.headers, text }
}
