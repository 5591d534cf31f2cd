// Compares serve on PostgreSQL with serve on SQLite and with a peer on PostgreSQL, then one to
// three servers on one database. BENCH_OLD=DIR names a tree of an older version with its dist. Its
// server takes the place of SQLite, and only one server is measured. BENCH_ONLY is a regular
// expression for the titles of the tables to measure.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fastifyPeer, judge, measure, numbered, ROUNDS, requireWrk, SECONDS } from './load.mjs'
import { withPostgres } from './postgres-server.mjs'
import { call, inFolder, removeDatabase, seed, startTillkit, startTillkitOf } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const PLAYERS = 1_000
const PEER = 'Fastify + pg'
const ON_SQLITE = 'tillkit, SQLite'
const ON_POSTGRES = 'tillkit, PostgreSQL'
const OLD = 'tillkit, older'
const OLD_TREE = process.env.BENCH_OLD && resolve(process.env.BENCH_OLD)
const ONLY = process.env.BENCH_ONLY && new RegExp(process.env.BENCH_ONLY, 'i')
const CREATES_PER_SECOND = 500

export async function bench() {
  requireWrk()
  await inFolder((folder) =>
    withPostgres(async (postgres) => {
      const bench = { folder, postgres, ...(await seedBoth(folder, postgres)) }
      for (const subject of subjects) {
        if (!ONLY || ONLY.test(subject.title)) await compare(bench, subject)
      }
      if (!OLD_TREE && !ONLY) await several(bench)
    }),
  )
}

async function seedBoth(folder, postgres) {
  const file = join(folder, 'seeded.db')
  return {
    file,
    sqlite: await seed(file, PLAYERS),
    server: await seed(await postgres.create('seeded'), PLAYERS),
    old: OLD_TREE && (await seedOld(postgres)),
  }
}

/** The older version has its own schema. */
async function seedOld(postgres) {
  const library = await import(join(OLD_TREE, 'dist/lib/index.js'))
  return seed(await postgres.create('seeded_old'), PLAYERS, library)
}

const bearer = (token) => ({ authorization: `Bearer ${token}` })
const readItems = ({ tokens, items }) =>
  tokens.map((token, i) => ({
    path: `/api/v1/items/${items[i % items.length]}`,
    headers: bearer(token),
  }))
const listItems = ({ token }) => [{ path: '/api/v1/items?store_id=main', headers: bearer(token) }]
const createItem = ({ account_key }) => [
  {
    method: 'POST',
    path: '/api/v1/items',
    headers: { 'x-account-key': account_key, 'content-type': 'application/json' },
    body: JSON.stringify({
      store_id: 'main',
      name: 'new_##########', // requests.lua replaces it with a number
      display_name: 'A new pack',
      description: 'All that is new, at once',
      price: '499',
      type: 'consumable',
      meta: { icon: 'new.png', stack: 99 },
    }),
  },
]

const read = { requests: readItems, credential: 'authorization', refusal: 401 }
const list = { requests: listItems, credential: 'authorization', refusal: 401 }
const create = { requests: createItem, credential: 'x-account-key', refusal: 401, varying: ['id'] }
const subjects = [
  { ...read, title: `Item read, ${count(PLAYERS)} players and 100 items in turn`, connections: 64 },
  { ...list, title: 'List of a store of 100 items', connections: 64 },
  { ...create, title: 'Item create', connections: 64 },
  { ...read, title: 'Item read, one at a time', connections: 1 },
  { ...create, title: 'Item create, one at a time', connections: 1 },
  { ...read, title: 'Item read during 500 creates per second', connections: 64, isBusy: true },
]

async function compare(bench, { requests: requestsOf, ...rest }) {
  const subjectOn = (database) => ({ ...rest, requests: requestsOf(database), database })
  const subject = subjectOn(bench.server)
  const ours = await answerOf(bench.postgres, subject.requests)
  const startOld = (db) => startTillkitOf(OLD_TREE, db)
  const reference = OLD_TREE ? OLD : ON_SQLITE
  const servers = {
    [PEER]: () => onPostgres(bench, subject, fastifyPeer, 'seeded', ours),
    [ON_POSTGRES]: () => onPostgres(bench, subject, startTillkit, 'seeded'),
    [reference]: OLD_TREE
      ? () => onPostgres(bench, subjectOn(bench.old), startOld, 'seeded_old')
      : () => onSqlite(bench, subjectOn(bench.sqlite)),
  }
  const trials = Object.fromEntries(Object.keys(servers).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, trial] of Object.entries(servers)) trials[name].push(await trial())
  }
  const of = (name, figure) => median(trials[name].map((trial) => trial[figure]))
  const pairs = (name, other) => {
    const all = trials[name].map(({ rate }, round) => rate / trials[other][round].rate)
    return `${ratio(median(all))} (${ratio(Math.min(...all))}-${ratio(Math.max(...all))})`
  }
  printTable(
    `${subject.title}: medians of ${ROUNDS} interleaved rounds of ${SECONDS} s, connections: ${subject.connections}`,
    [
      '',
      'requests/s',
      'of the peer',
      `of ${reference}`,
      'CPU µs',
      'PostgreSQL µs',
      'p50 ms',
      'p99 ms',
    ].concat(subject.isBusy ? ['creates/s'] : []),
    Object.keys(servers).map((name) => [
      name,
      count(of(name, 'rate')),
      pairs(name, PEER),
      pairs(name, reference),
      of(name, 'cpu').toFixed(0),
      name === ON_SQLITE ? '' : of(name, 'database').toFixed(0),
      of(name, 'p50').toFixed(2),
      of(name, 'p99').toFixed(2),
      ...(subject.isBusy ? [count(of(name, 'creates'))] : []),
    ]),
  )
}

async function onSqlite({ folder, file }, subject) {
  const db = join(folder, 'trial.db')
  copyFileSync(file, db)
  const server = await startTillkit(db)
  try {
    return await measureBusy(folder, server, subject)
  } finally {
    await server.stop()
    removeDatabase(db)
  }
}

/** One trial on a fresh copy of a database. A peer must first answer like our server. */
async function onPostgres({ folder, postgres }, subject, start, template, ours) {
  return onFreshCopy(postgres, template, async (db) => {
    const server = await start(db)
    try {
      if (ours) await judge(PEER, server.url, ours, subject)
      const before = postgres.cpu()
      const result = await measureBusy(folder, server, subject)
      return { ...result, database: (postgres.cpu() - before) / result.total }
    } finally {
      await server.stop()
    }
  })
}

/** Measures a subject, with steady creates beside it if it is busy. The CPU times include those. */
async function measureBusy(folder, server, subject) {
  if (!subject.isBusy) return measure(folder, server, subject.requests, subject)
  const args = [server.url, subject.database.account_key, CREATES_PER_SECOND]
  const child = spawn(process.execPath, ['bench/steady.mjs', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  let report = ''
  child.stdout.on('data', (chunk) => {
    report += chunk
  })
  const result = await measure(folder, server, subject.requests, subject)
  child.stdin.end()
  await ended
  if (report === '') throw new Error('a create failed')
  return { ...result, creates: Number(report) }
}

/** Our answer, from another copy. */
function answerOf(postgres, requests) {
  return onFreshCopy(postgres, 'seeded', async (db) => {
    const server = await startTillkit(db)
    try {
      return await call(server.url, numbered(requests[0]))
    } finally {
      await server.stop()
    }
  })
}

let copies = 0

// Databases are deleted with the server: DROP DATABASE would first write everything to disk.
async function onFreshCopy(postgres, template, work) {
  return work(await postgres.create(`trial_${++copies}`, template))
}

/** Compares one, two and three servers on one database. The load generators share their cores. */
async function several({ folder, postgres, server: doors }) {
  for (const [title, make] of Object.entries({
    'Item read': readItems,
    'Item create': createItem,
  })) {
    const rates = { 1: [], 2: [], 3: [] }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [servers, all] of Object.entries(rates)) {
        all.push(await together(folder, postgres, Number(servers), make(doors)))
      }
    }
    printTable(
      `${title}, 64 connections spread over servers: medians of ${ROUNDS} interleaved rounds of ${SECONDS} s`,
      ['servers', 'requests/s', 'of one'],
      Object.entries(rates).map(([servers, all]) => [
        servers,
        count(median(all)),
        ratio(median(all) / median(rates[1])),
      ]),
    )
  }
}

/** Requests per second of all servers on one database, each with an equal share of connections. */
function together(folder, postgres, number, requests) {
  return onFreshCopy(postgres, 'seeded', async (db) => {
    const servers = []
    try {
      for (let i = 0; i < number; i++) servers.push(await startTillkit(db))
      const shares = servers.map((server, i) => {
        const connections = Math.floor(64 / number) + (i < 64 % number ? 1 : 0)
        return measure(folder, server, requests, { connections, from: i * 2e9 })
      })
      return (await Promise.all(shares)).reduce((sum, { rate }) => sum + rate, 0)
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
    }
  })
}
