// Puts servers under the load of wrk.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { call, removeDatabase, startServer } from './servers.mjs'

export const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const WARM_UP = 2
export const ROUNDS = 3

export function requireWrk() {
  if (spawnSync('wrk', ['-v']).error === undefined) return
  console.error('wrk is missing: apt install wrk')
  process.exit(2)
}

export const fastifyPeer = (db) => startServer('bench/peer-fastify.mjs', [db])
export const barePeer = (db) => startServer('bench/peer-bare.mjs', [db])
export const honoPeer = (db) => startServer('bench/peer-hono.mjs', [db])

/** Calls `work` with a server on a fresh copy of a database. */
export async function withServer(folder, seeded, start, work) {
  const db = join(folder, 'trial.db')
  copyFileSync(seeded, db)
  const server = await start(db)
  try {
    return await work(server)
  } finally {
    await server.stop()
    removeDatabase(db)
  }
}

/**
 * Requests per second, latencies and CPU time per request of a server, after a warm-up. Created
 * records are numbered from `from`: several servers on one database need different numbers.
 */
export async function measure(folder, server, requests, { connections = 64, from = 0 } = {}) {
  const warm = await load(folder, server.url, requests, { seconds: WARM_UP, connections, from })
  const before = server.cpu()
  const later = { seconds: SECONDS, connections, from: from + 1e9 }
  const result = await load(folder, server.url, requests, later)
  const total = warm.answers + result.answers
  return { ...result, total, cpu: (server.cpu() - before) / result.answers }
}

/** Throws for a rival that answers differently, or that accepts a wrong credential. */
export async function judge(name, url, ours, { requests, credential, refusal, varying = [] }) {
  const request = numbered(requests[0])
  const spoilt = { ...request.headers, [credential]: `${request.headers[credential]}x` }
  await call(url, { ...request, headers: spoilt }, refusal)
  const { text } = await call(url, request)
  const blank = (key, value) => (varying.includes(key) ? typeof value : value)
  const [a, b] = [text, ours.text].map((each) => JSON.stringify(JSON.parse(each), blank))
  if (a !== b) throw new Error(`${name} answers ${a.slice(0, 500)}, not ${b.slice(0, 500)}`)
}

/** Requests per second, and latencies in ms. */
const load = (folder, url, requests, options) => startWrk(folder, url, requests, options).report

/** Starts wrk. Its `report` rejects if an answer was not 200. */
export function startWrk(folder, url, requests, { seconds, connections = 64, from = 0 }) {
  const { host, port } = new URL(url)
  const file = join(folder, `requests-${port}`)
  writeFileSync(file, requests.map((each) => rawRequest(host, each)).join('\0'))
  const options = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    '--timeout=30s',
    '-s',
    'bench/requests.lua',
  ]
  const child = spawn('wrk', [...options, url, '--', file, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const report = readReport(child.stdout)
  report.catch(() => {}) // the caller may not have asked for it yet
  return {
    report,
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    kill: () => child.kill('SIGKILL'),
    /** Ends the load early, and returns the report. */
    stop() {
      child.kill('SIGCONT')
      // Again and again: only the main thread's copy of the signal ends its sleep.
      const timer = setInterval(() => child.kill('SIGINT'), 50)
      return report.finally(() => clearInterval(timer))
    },
    /** The bytes that wrk has read so far, almost all from the server. */
    bytesRead() {
      return Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${child.pid}/io`, 'utf8'))[1])
    },
  }
}

async function readReport(output) {
  let report = ''
  for await (const chunk of output) report += chunk
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(report)?.[1])
  if (!(rate > 0) || /Non-2xx|Socket errors/.test(report)) throw new Error(report)
  const answers = Number(/(\d+) requests in/.exec(report)[1])
  return { rate, answers, p50: milliseconds(report, '50%'), p99: milliseconds(report, '99%') }
}

function milliseconds(report, name) {
  const [, value, unit] = new RegExp(`${name}\\s+([\\d.]+)(us|ms|s)`).exec(report)
  return value * { us: 0.001, ms: 1, s: 1000 }[unit]
}

function rawRequest(host, { method = 'GET', path, headers, body = '' }) {
  const length = body === '' ? {} : { 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries({ host, ...headers, ...length }).map(([name, value]) => {
    return `${name}: ${value}`
  })
  return `${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${body}`
}

/** The request with a number that requests.lua does not use. */
export function numbered({ body, ...request }) {
  return { ...request, body: body?.replace('##########', '0000000000') }
}

/** The limit: sends the same answer to every request. */
export function startReplay(folder, answer) {
  const file = join(folder, 'answer.json')
  writeFileSync(file, JSON.stringify(answer))
  return startServer('bench/replay.mjs', [file])
}
