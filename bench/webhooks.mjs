// Measures how fast 10,000 events reach one receiver, and how much that slows the server's reads.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createTill, openSqliteStorage } from '../dist/lib/index.js'
import { measure, requireWrk, SECONDS } from './load.mjs'
import { call, inFolder, removeDatabase, seed, startServer, startTillkit } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const EVENTS = 10_000
const ROUNDS = 3

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
    const reads = { 'no webhooks': [], 'webhooks, nothing to send': [], 'while sending': [] }
    for (let round = 0; round < ROUNDS; round++) {
      deliveries.push(await withReceiver(folder, seeded, true, deliver))
      for (const [name, all] of Object.entries(reads)) {
        const read = (server) => measure(folder, server, requests)
        const options = name === 'no webhooks' ? ['--no-webhooks'] : []
        all.push(await withReceiver(folder, seeded, name === 'while sending', read, options))
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
  })
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
