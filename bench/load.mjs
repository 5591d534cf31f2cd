// Compares servers under wrk: each in its own process, one at a time, in turn.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { call, removeDatabase, startServer, startTillkit } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

export const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const WARM_UP = 2
export const ROUNDS = 3
const LIMIT = 'bare node:http'

export function requireWrk() {
  if (spawnSync('wrk', ['-v']).error === undefined) return
  console.error('wrk is missing: apt install wrk')
  process.exit(2)
}

export const fastifyPeer = (db) => startServer('bench/peer-fastify.mjs', db)
export const honoPeer = (db) => startServer('bench/peer-hono.mjs', db)

/**
 * Measures our server, the rivals and the limit with `requests`, on copies of the database
 * `seeded`.
 *
 * A wrong value in the header `credential` must be answered with the status `refusal`. `varying`
 * names the members that may differ between two answers to one request.
 */
export async function compare(folder, title, subject) {
  const { seeded, requests, rivals } = subject
  const ours = await withServer(folder, seeded, startTillkit, ({ url }) =>
    call(url, numbered(requests[0])),
  )
  const servers = { tillkit: startTillkit, ...rivals, [LIMIT]: () => startReplay(folder, ours) }
  const trials = Object.fromEntries(Object.keys(servers).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, start] of Object.entries(servers)) {
      const trial = await withServer(folder, seeded, start, async (server) => {
        if (name !== LIMIT) await judge(name, server.url, ours, subject)
        return measure(folder, server, requests)
      })
      trials[name].push(trial)
    }
  }
  const rate = (name) => median(trials[name].map((trial) => trial.rate))
  const cpu = (name) => median(trials[name].map((trial) => trial.cpu))
  printTable(
    `${title}: medians of ${ROUNDS} interleaved rounds of ${SECONDS} s, 64 connections`,
    ['', 'requests/s', 'of the limit', 'of Fastify', 'CPU µs', 'limit / CPU', 'p50 ms', 'p99 ms'],
    Object.keys(trials).map((name) => [
      name,
      count(rate(name)),
      ratio(rate(name) / rate(LIMIT)),
      ratio(rate(name) / rate('Fastify')),
      cpu(name).toFixed(1),
      ratio(cpu(LIMIT) / cpu(name)),
      median(trials[name].map(({ p50 }) => p50)).toFixed(2),
      median(trials[name].map(({ p99 }) => p99)).toFixed(2),
    ]),
  )
}

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

/** Requests per second, and latencies in ms. Throws if an answer was not 200. */
async function load(folder, url, requests, { seconds, connections, from }) {
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
  let report = ''
  for await (const chunk of child.stdout) report += chunk
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
  return startServer('bench/replay.mjs', file)
}
