// Measures how fast 10,000 events reach one receiver, and how much that slows the server's reads: with
// as many reads as possible, which compete with the sender, the receiver and the client for the
// cores, and at a steady rate, which shows what a read costs the server itself.
import { execFile } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createTill, openSqliteStorage } from '../dist/lib/index.js'
import { measure, requireWrk, SECONDS } from './load.mjs'
import { call, inFolder, removeDatabase, seed, startServer, startTillkit } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const EVENTS = 10_000
const ROUNDS = 3
const READS_PER_SECOND = 2_000
const CASES = ['no webhooks', 'webhooks, nothing to send', 'while sending']

export async function bench() {
  requireWrk()
  await inFolder(async (folder) => {
    const seeded = join(folder, 'seeded.db')
    const { items, token } = await seed(seeded)
    await addEvents(seeded)
    const requests = items.map((id) => ({
      path: `/api/v1/items/${id}`,
      headers: { authorization: `Bearer ${token}` },
    }))
    const deliveries = []
    const [reads, steady] = [1, 2].map(() => Object.fromEntries(CASES.map((name) => [name, []])))
    for (let round = 0; round < ROUNDS; round++) {
      deliveries.push(await withReceiver(folder, seeded, true, deliver))
      for (const name of CASES) {
        const trial = (work) => {
          const options = name === 'no webhooks' ? ['--no-webhooks'] : []
          return withReceiver(folder, seeded, name === 'while sending', work, options)
        }
        reads[name].push(await trial((server) => measure(folder, server, requests)))
        steady[name].push(await trial((server) => measureSteady(folder, server, requests)))
      }
    }
    printTable(
      `${count(EVENTS)} events to one receiver: medians of ${ROUNDS} rounds`,
      ['', 'seconds', 'events/s', 'CPU µs per event'],
      [
        [
          'SQLite, idle server',
          median(deliveries.map(({ seconds }) => seconds)).toFixed(1),
          count(EVENTS / median(deliveries.map(({ seconds }) => seconds))),
          median(deliveries.map(({ cpu }) => cpu)).toFixed(0),
        ],
      ],
    )
    const rate = (name) => median(reads[name].map((each) => each.rate))
    printTable(
      `Item reads of that server: medians of ${ROUNDS} interleaved rounds of ${SECONDS} s`,
      ['', 'requests/s', 'of no webhooks', 'p99 ms', 'events/s'],
      Object.entries(reads).map(([name, all]) => [
        name,
        count(rate(name)),
        ratio(rate(name) / rate('no webhooks')),
        median(all.map(({ p99 }) => p99)).toFixed(2),
        count(median(all.map(({ eventsPerSecond }) => eventsPerSecond))),
      ]),
    )
    const of = (name, figure) => median(steady[name].map((each) => each[figure]))
    printTable(
      `${count(READS_PER_SECOND)} item reads per second: medians of ${ROUNDS} interleaved rounds of ${SECONDS} s`,
      ['', 'CPU µs of the main thread', 'no webhooks / this', 'p50 ms', 'p99 ms', 'events/s'],
      CASES.map((name) => [
        name,
        of(name, 'cpu').toFixed(0),
        ratio(of('no webhooks', 'cpu') / of(name, 'cpu')),
        of(name, 'p50').toFixed(2),
        of(name, 'p99').toFixed(2),
        count(of(name, 'eventsPerSecond')),
      ]),
    )
  })
}

/** The CPU time of the server's main thread per read, and latencies, at a steady rate. */
async function measureSteady(folder, server, requests) {
  const file = join(folder, 'steady.json')
  writeFileSync(file, JSON.stringify(requests))
  const read = async (seconds) => {
    const args = ['bench/steady-reads.mjs', server.url, file, READS_PER_SECOND, seconds]
    return JSON.parse((await promisify(execFile)(process.execPath, args.map(String))).stdout)
  }
  await read(1)
  const before = server.mainCpu()
  const result = await read(SECONDS)
  return { ...result, cpu: (server.mainCpu() - before) / result.answers }
}

/** Gives the project an endpoint with 10,000 undelivered events. */
async function addEvents(db) {
  const till = createTill({ storage: await openSqliteStorage(db) })
  const [account] = (await till.accounts.list({ limit: 1 })).accounts
  const [project] = (await till.projects.list(account, { limit: 1 })).projects
  const config = { webhook_url: 'http://127.0.0.1/', webhook_secret: 'whsec_YmVuY2htYXJr' }
  await till.projects.update(account, { id: project.id, config })
  for (let done = 0; done < EVENTS; done += 100) {
    const creations = Array.from({ length: 100 }, (_, i) => {
      const text = { name: `event_${done + i}`, display_name: 'Item', price: '499' }
      return till.items.create(account, { store_id: 'main', ...text, type: 'consumable' })
    })
    await Promise.all(creations)
  }
  await till.close()
}

/** Calls `work` with a server whose endpoint is active or paused. Adds the events per second. */
async function withReceiver(folder, seeded, isActive, work, options = []) {
  const db = join(folder, 'trial.db')
  copyFileSync(seeded, db)
  const receiver = await startServer('bench/receiver.mjs')
  await prepare(db, receiver.url, isActive)
  const server = await startTillkit(db, '--webhook-allow-private', ...options)
  const started = performance.now()
  try {
    const result = await work(server, receiver)
    const events = await received(receiver)
    const seconds = (performance.now() - started) / 1000
    return { ...result, eventsPerSecond: events / seconds }
  } finally {
    await server.stop()
    await receiver.stop()
    removeDatabase(db)
  }
}

/** Sets the URL; without `isActive` pauses the endpoint. */
async function prepare(db, webhook_url, isActive) {
  const till = createTill({ storage: await openSqliteStorage(db) })
  const [account] = (await till.accounts.list({ limit: 1 })).accounts
  const [project] = (await till.projects.list(account, { limit: 1 })).projects
  const config = { webhook_url, webhook_secret: 'whsec_YmVuY2htYXJr' }
  await till.projects.update(account, { id: project.id, config })
  await till.webhooks.replay(account, { endpoint_id: project.id, from: 1 })
  if (!isActive) await till.webhooks.pause(account, project.id)
  await till.close()
}

async function deliver(server, receiver) {
  const before = server.cpu()
  const started = performance.now()
  while ((await received(receiver)) < EVENTS) await setTimeout(20)
  return {
    seconds: (performance.now() - started) / 1000,
    cpu: (server.cpu() - before) / EVENTS,
  }
}

async function received({ url }) {
  return Number((await call(url, { path: '/' })).text)
}
