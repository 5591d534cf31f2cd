// Measures how fast 10,000 events reach one receiver, and how much that slows the server's reads: with
// as many reads as possible, which compete with the sender, the receiver and the client for the
// cores, and at a steady rate, which shows what a read costs the server itself. As many reads as
// possible are measured in short windows, in which one server runs and the others are stopped. Then
// measures what the entries of one project cost the sender of an account with many endpoints.
import { execFile } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createTill, openSqliteStorage } from '../dist/lib/index.js'
import { requireWrk, SECONDS, startWrk } from './load.mjs'
import { call, inFolder, removeDatabase, seed, startServer, startTillkit } from './servers.mjs'
import { count, median, percentile, printTable, ratio } from './table.mjs'

const EVENTS = 10_000
const ROUNDS = 3
const WINDOWS = 30
const WARM_UP = 4
const WINDOW_MS = 500
const READS_PER_SECOND = 2_000
const [NONE, SENDING] = ['no webhooks', 'while sending']
const CASES = [NONE, 'webhooks, nothing to send', SENDING]
const optionsOf = (name) => (name === NONE ? ['--no-webhooks'] : [])

/** The numbers of endpoints whose projects are quiet, and of entries between two claims. */
const QUIET = [0, 10, 300]
const TOGETHER = [1, 20]
const ENTRIES = 400

export async function bench() {
  requireWrk()
  await inFolder(async (folder) => {
    await quietEndpoints(folder)
    const seeded = join(folder, 'seeded.db')
    const { items, token } = await seed(seeded)
    await addEvents(seeded)
    const requests = items.map((id) => ({
      path: `/api/v1/items/${id}`,
      headers: { authorization: `Bearer ${token}` },
    }))
    const deliveries = []
    const steady = Object.fromEntries(CASES.map((name) => [name, []]))
    for (let round = 0; round < ROUNDS; round++) {
      deliveries.push(await withReceiver(folder, seeded, SENDING, deliver))
      for (const name of CASES) {
        const work = (server) => measureSteady(folder, server, requests)
        steady[name].push(await withReceiver(folder, seeded, name, work))
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
    printWindows(await measureWindows(folder, seeded, requests))
    const of = (name, figure) => median(steady[name].map((each) => each[figure]))
    printTable(
      `${count(READS_PER_SECOND)} item reads per second: medians of ${ROUNDS} interleaved rounds of ${SECONDS} s`,
      ['', 'CPU µs of the main thread', 'no webhooks / this', 'p50 ms', 'p99 ms', 'events/s'],
      CASES.map((name) => [
        name,
        of(name, 'cpu').toFixed(0),
        ratio(of(NONE, 'cpu') / of(name, 'cpu')),
        of(name, 'p50').toFixed(2),
        of(name, 'p99').toFixed(2),
        count(of(name, 'eventsPerSecond')),
      ]),
    )
  })
}

export async function quietEndpoints(folder) {
  const rows = []
  for (const endpoints of QUIET) {
    const till = createTill({ storage: await openSqliteStorage(join(folder, `${endpoints}.db`)) })
    const account = await till.accounts.create({ name: 'Bench' })
    const newProject = (config) => {
      const game = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
      return till.projects.create(account, { ...game, config })
    }
    for (let i = 0; i < endpoints; i++) await newProject({ webhook_url: 'http://127.0.0.1/' })
    const { id } = await newProject({})
    await till.stores.create(account, { project_id: id, store_id: 'main', store_type: 'web' })
    let made = 0
    const claimAfter = async (entries) => {
      for (let i = 0; i < entries; i++) await newItem(till, account, made++)
      const before = process.cpuUsage()
      await till.outbox.claim()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    const figures = []
    for (const together of TOGETHER) {
      for (let i = 0; i < 100; i++) await claimAfter(together) // moves all endpoints to the end
      let ms = 0
      for (let i = 0; i < ENTRIES; i += together) ms += await claimAfter(together)
      figures.push(ms / ENTRIES)
    }
    await till.close()
    rows.push([endpoints, ...figures.map((ms) => ms.toFixed(2))])
  }
  printTable(
    'The sender of an account with endpoints of quiet projects: CPU ms per audit entry',
    ['quiet endpoints', ...TOGETHER.map((each) => `${each} per claim`)],
    rows,
  )
}

function newItem(till, account, number) {
  const text = { name: `event_${number}`, display_name: 'Item', price: '499' }
  return till.items.create(account, { store_id: 'main', ...text, type: 'consumable' })
}

/** Measures as many reads as possible in windows, in which the servers take turns. */
async function measureWindows(folder, seeded, requests) {
  const trials = []
  try {
    for (const name of CASES) {
      const started = await start(folder, `${trials.length}.db`, seeded, name)
      const wrk = startWrk(folder, started.server.url, requests, { seconds: 3_600 })
      const trial = { name, ...started, wrk, rates: [], events: [] }
      trials.push(trial)
      for (const process of [wrk, started.server, started.receiver]) process.pause()
    }
    for (let round = -WARM_UP; round < WINDOWS; round++) {
      for (const trial of round % 2 === 0 ? trials : trials.toReversed()) {
        const { rate, events } = await measureWindow(trial)
        if (round >= 0) trial.rates.push(rate)
        if (round >= 0) trial.events.push(events)
      }
    }
    for (const { wrk, server } of trials) {
      server.resume()
      await wrk.stop() // rejects if an answer was not 200
    }
  } finally {
    for (const { wrk, server, receiver } of trials) {
      wrk.kill()
      await server.stop()
      await receiver.stop()
    }
  }
  return trials
}

/** The bytes of answers and the events per millisecond. */
async function measureWindow({ server, receiver, wrk }) {
  for (const process of [server, receiver]) process.resume()
  await setTimeout(50) // the sender continues
  const [before, bytes, started] = [await received(receiver), wrk.bytesRead(), performance.now()]
  wrk.resume()
  await setTimeout(WINDOW_MS)
  wrk.pause()
  const [read, time] = [wrk.bytesRead() - bytes, performance.now() - started]
  const events = (await received(receiver)) - before
  for (const process of [server, receiver]) process.pause()
  return { rate: read / time, events: events / time }
}

function printWindows([none, ...others]) {
  printTable(
    `Item reads of that server, 64 connections: ${WINDOWS} interleaved windows of ${WINDOW_MS} ms`,
    ['', 'of no webhooks (median)', 'quartiles', 'events/s'],
    others.map(({ name, rates, events }) => {
      const ratios = rates.map((rate, i) => rate / none.rates[i])
      const quartiles = [0.25, 0.75].map((part) => ratio(percentile(ratios, part)))
      return [name, ratio(median(ratios)), quartiles.join(' to '), count(median(events) * 1000)]
    }),
  )
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
    await Promise.all(Array.from({ length: 100 }, (_, i) => newItem(till, account, done + i)))
  }
  await till.close()
}

/** Starts a receiver and a server, whose endpoint is active or paused. */
async function start(folder, file, seeded, name) {
  const db = join(folder, file)
  copyFileSync(seeded, db)
  const receiver = await startServer('bench/receiver.mjs')
  await prepare(db, receiver.url, name === SENDING)
  const server = await startTillkit(db, '--webhook-allow-private', ...optionsOf(name))
  return { server, receiver, db }
}

/** Calls `work` with a server and its receiver. Adds the events per second. */
async function withReceiver(folder, seeded, name, work) {
  const { server, receiver, db } = await start(folder, 'trial.db', seeded, name)
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
