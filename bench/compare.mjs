// Compares servers under wrk in many short windows. All servers stay up, but wrk loads one at a
// time: SIGSTOP pauses the others' wrk.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { judge, numbered, startReplay, startWrk, withServer } from './load.mjs'
import { call, startTillkit } from './servers.mjs'
import { count, percentile, printTable, ratio } from './table.mjs'

const WINDOWS = Number(process.env.BENCH_WINDOWS ?? 40)
const WARM_UP = 10
const WINDOW_MS = 200
/** After a window, the server still answers the requests that wrk has sent. */
const DRAIN_MS = 10
const LIMIT = 'bare node:http'
const PEERS = ['tillkit', 'Fastify', LIMIT]

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
  const starts = { tillkit: startTillkit, ...rivals, [LIMIT]: () => startReplay(folder, ours) }
  const contenders = []
  try {
    for (const [name, start] of Object.entries(starts)) {
      const db = join(folder, `${contenders.length}.db`)
      copyFileSync(seeded, db)
      const server = await start(db)
      contenders.push({ name, server, windows: [] })
      if (name !== LIMIT) await judge(name, server.url, ours, subject)
    }
    for (const each of contenders) {
      each.wrk = startWrk(folder, each.server.url, requests, { seconds: 3_600 })
      each.wrk.pause()
    }
    for (let round = -WARM_UP; round < WINDOWS; round++) {
      for (const each of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const window = await measureWindow(each)
        if (round >= 0) each.windows.push(window)
      }
    }
    for (const { wrk } of contenders) {
      const bytes = wrk.bytesRead()
      const { answers } = await wrk.stop()
      wrk.bytesOfAnswer = bytes / answers
    }
  } finally {
    for (const { wrk, server } of contenders) {
      wrk?.kill()
      await server.stop()
    }
  }
  printWindows(title, contenders.map(summaryOf))
}

/** The time of a window and of the server's CPU in µs, and the bytes of the answers. */
async function measureWindow({ server, wrk }) {
  const [cpu, bytes, started] = [server.cpu(), wrk.bytesRead(), performance.now()]
  wrk.resume()
  await setTimeout(WINDOW_MS)
  wrk.pause()
  const time = (performance.now() - started) * 1000
  const read = wrk.bytesRead() - bytes
  await setTimeout(DRAIN_MS)
  return { time, read, cpu: server.cpu() - cpu }
}

function summaryOf({ name, wrk: { bytesOfAnswer }, windows }) {
  const cpus = windows.map(({ cpu, read }) => (cpu * bytesOfAnswer) / read)
  const rates = windows.map(({ time, read }) => (read / bytesOfAnswer / time) * 1e6)
  const quartiles = (values) => [percentile(values, 0.25), percentile(values, 0.75)]
  return { name, cpu: quartiles(cpus), rate: quartiles(rates).reverse() }
}

function printWindows(title, rows) {
  const peers = PEERS.map((name) => rows.find((row) => row.name === name)).filter(Boolean)
  printTable(
    `${title}: quartiles of ${WINDOWS} interleaved windows of ${WINDOW_MS} ms, 64 connections`,
    ['CPU per request', 'µs', 'to µs', ...peers.map(({ name }) => `${name} / it`)],
    rows.map(({ name, cpu }) => [
      name,
      ...cpu.map((each) => each.toFixed(1)),
      ...peers.map((peer) => ratio(peer.cpu[0] / cpu[0])),
    ]),
  )
  printTable(
    'Throughput',
    ['', 'requests/s', 'down to', ...peers.map(({ name }) => `of ${name}`)],
    rows.map(({ name, rate }) => [
      name,
      ...rate.map(count),
      ...peers.map((peer) => ratio(rate[0] / peer.rate[0])),
    ]),
  )
}
