// Compares serve on PostgreSQL with serve on SQLite and with a peer on PostgreSQL, then one to
// three servers on one database.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fastifyPeer, judge, measure, numbered, ROUNDS, requireWrk, SECONDS } from './load.mjs'
import { withPostgres } from './postgres-server.mjs'
import { call, inFolder, removeDatabase, seed, startTillkit } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const PLAYERS = 1_000
const PEER = 'Fastify + pg'
const ON_SQLITE = 'tillkit, SQLite'
const ON_POSTGRES = 'tillkit, PostgreSQL'

export async function bench() {
  requireWrk()
  await inFolder((folder) =>
    withPostgres(async (postgres) => {
      const bench = { folder, postgres, ...(await seedBoth(folder, postgres)) }
      for (const subject of subjects) await compare(bench, subject)
      await several(bench)
    }),
  )
}

async function seedBoth(folder, postgres) {
  const file = join(folder, 'seeded.db')
  return {
    file,
    sqlite: await seed(file, PLAYERS),
    server: await seed(await postgres.create('seeded'), PLAYERS),
  }
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
]

async function compare(bench, { requests: requestsOf, ...rest }) {
  const subject = { ...rest, requests: requestsOf(bench.server) }
  const ours = await answerOf(bench.postgres, subject.requests)
  const servers = {
    [PEER]: () => onPostgres(bench, subject, fastifyPeer, ours),
    [ON_POSTGRES]: () => onPostgres(bench, subject, startTillkit),
    [ON_SQLITE]: () => onSqlite(bench, { ...rest, requests: requestsOf(bench.sqlite) }),
  }
  const trials = Object.fromEntries(Object.keys(servers).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, trial] of Object.entries(servers)) trials[name].push(await trial())
  }
  const of = (name, figure) => median(trials[name].map((trial) => trial[figure]))
  printTable(
    `${subject.title}: medians of ${ROUNDS} interleaved rounds of ${SECONDS} s, connections: ${subject.connections}`,
    ['', 'requests/s', 'of the peer', 'of SQLite', 'CPU µs', 'PostgreSQL µs', 'p50 ms', 'p99 ms'],
    Object.keys(servers).map((name) => [
      name,
      count(of(name, 'rate')),
      ratio(of(name, 'rate') / of(PEER, 'rate')),
      ratio(of(name, 'rate') / of(ON_SQLITE, 'rate')),
      of(name, 'cpu').toFixed(0),
      name === ON_SQLITE ? '' : of(name, 'database').toFixed(0),
      of(name, 'p50').toFixed(2),
      of(name, 'p99').toFixed(2),
    ]),
  )
}

async function onSqlite({ folder, file }, { requests, connections }) {
  const db = join(folder, 'trial.db')
  copyFileSync(file, db)
  const server = await startTillkit(db)
  try {
    return await measure(folder, server, requests, { connections })
  } finally {
    await server.stop()
    removeDatabase(db)
  }
}

/** One trial on a fresh copy of the database. A peer must first answer like our server. */
async function onPostgres({ folder, postgres }, subject, start, ours) {
  return onFreshCopy(postgres, async (db) => {
    const server = await start(db)
    try {
      if (ours) await judge(PEER, server.url, ours, subject)
      const before = postgres.cpu()
      const result = await measure(folder, server, subject.requests, subject)
      return { ...result, database: (postgres.cpu() - before) / result.total }
    } finally {
      await server.stop()
    }
  })
}

/** Our answer, from another copy. */
function answerOf(postgres, requests) {
  return onFreshCopy(postgres, async (db) => {
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
async function onFreshCopy(postgres, work) {
  return work(await postgres.create(`trial_${++copies}`, 'seeded'))
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
  return onFreshCopy(postgres, async (db) => {
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
