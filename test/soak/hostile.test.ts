// Sends each hostile input in a small and a large size to a server with a small heap, while a probe
// requests /healthz.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { temporaryFolder } from '../support/folder.ts'
import { type Attack, type HostileInput, inputs } from '../support/hostile/inputs.ts'
import { createTarget, type Server, startServer } from '../support/hostile/target.ts'
import { connectTo } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'

/** The large size is four times the small one. Each doubling may cost 2.5 times as much. */
const GROWTH = 4
const MAX_RATIO = 2.5 ** 2
/** Ratios of lower costs are not checked: compilation and garbage collection dominate them. */
const FEW = { ms: 80, bytes: 48 * 1024 ** 2 }
/** The small size is repeated until it costs this much, at most MAX_FACTOR times. */
const MEASURABLE_MS = 40
const MAX_FACTOR = 8
const MAX_WAIT_MS = 1_000
/** The maximum number of measurements of a ratio that is too high. */
const MAX_ROUNDS = 4
const UNREAD_MS = 1_000

interface Cost {
  readonly ms: number
  readonly bytes: number
}

const WORST: Cost = { ms: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

/** Longer, an answer is missing. */
const timeout = 300_000
const skip = soakOnly || (process.platform !== 'linux' && 'only Linux has /proc')

for (const input of inputs) {
  const { name } = input
  test(`hostile input costs at most in proportion to its size: ${name}`, {
    skip,
    timeout,
  }, async (t) => {
    // Another process may have disturbed the first measurement.
    const reasons = (await measure(t, input)).length > 0 ? await measure(t, input) : []
    assert.deepEqual(reasons, [])
  })
}

/** Returns the limits that the input exceeded. */
async function measure(t: TestContext, input: HostileInput): Promise<string[]> {
  const db = join(temporaryFolder(t), 'till.db')
  const target = await createTarget(db)
  const largeSize = 2 * input.n
  const smallSize = largeSize / GROWTH
  for (const size of [smallSize, largeSize]) await input.prepare?.(target, size)
  await target.close()
  const server = await startServer(t, db)
  const probe = new Worker(new URL('../support/hostile/probe.ts', import.meta.url), {
    workerData: server.url,
  })
  const statuses = new Set<number>()
  try {
    const attack = input.attack(target, smallSize)
    await cost(server, { ...attack, times: 1 }, 0, statuses) // warms up the code
    const times = attack.how ? attack.times : await enough(server, attack, statuses)
    const small = { ...attack, times }
    const larger = input.attack(target, largeSize)
    const large = larger.how ? larger : { ...larger, times }

    const base = server.memory().now
    let [cheap, dear] = [WORST, WORST]
    let grown: string[] = ['not measured']
    // Other work on the machine adds to a cost, so the lowest of several rounds counts.
    for (let round = 1; round <= MAX_ROUNDS && grown.length > 0; round++) {
      cheap = least(cheap, await cost(server, small, base, statuses))
      dear = least(dear, await cost(server, large, base, statuses))
      grown = (['ms', 'bytes'] as const)
        .filter((unit) => dear[unit] > Math.max(FEW[unit], MAX_RATIO * cheap[unit]))
        .map(
          (unit) => `${GROWTH} times the input took ${dear[unit] / cheap[unit]} times the ${unit}`,
        )
    }
    probe.postMessage('stop')
    const [{ longest, failure }] = await once(probe, 'message')
    return [
      ...grown,
      ...(server.isAlive() ? [] : ['the server died']),
      ...(failure ? [`/healthz: ${failure}`] : []),
      ...(longest > MAX_WAIT_MS ? [`/healthz waited ${Math.round(longest)} ms`] : []),
      ...(statuses.has(500) ? ['an answer was 500'] : []),
    ]
  } catch (error) {
    await setTimeout(500) // the process exits shortly after its connections close
    await probe.terminate()
    return [
      server.isAlive() ? String(error) : `the server died: ${server.log.join('\n').slice(-300)}`,
    ]
  } finally {
    await server.stop()
  }
}

function least(a: Cost, b: Cost): Cost {
  return { ms: Math.min(a.ms, b.ms), bytes: Math.min(a.bytes, b.bytes) }
}

/** Returns the number of requests whose cost is large enough to measure. */
async function enough(server: Server, attack: Attack, statuses: Set<number>): Promise<number> {
  const { ms } = await cost(server, attack, 0, statuses)
  const factor = Math.min(MAX_FACTOR, Math.max(1, MEASURABLE_MS / Math.max(ms, 1)))
  return Math.ceil(attack.times * factor)
}

/** Measures an attack: CPU time of the server, and its peak memory above `base`. */
async function cost(
  server: Server,
  attack: Attack,
  base: number,
  statuses: Set<number>,
): Promise<Cost> {
  server.resetPeak()
  const before = server.cpuTime()
  for (const status of await sendAll(server.url, attack)) statuses.add(status)
  return { ms: server.cpuTime() - before, bytes: Math.max(0, server.memory().peak - base) }
}

/** Returns the statuses of the answers; 0 where a connection ended without one. */
async function sendAll(url: string, { request, times, how }: Attack): Promise<number[]> {
  const all = Array.from({ length: times })
  if (how === 'together' || how === 'unread') {
    const clients = await Promise.all(all.map(() => connect(url)))
    for (const client of clients) client.socket.write(request.subarray(0, -1))
    await setTimeout(UNREAD_MS)
    if (how === 'unread') for (const { socket } of clients) socket.pause()
    for (const client of clients) client.socket.write(request.subarray(-1))
    if (how === 'together') return Promise.all(clients.map(({ status }) => status))
    await setTimeout(UNREAD_MS)
    for (const { socket } of clients) socket.destroy()
    await Promise.all(clients.map(({ status }) => status))
    return []
  }
  const statuses: number[] = []
  const sender = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const { socket, status } = await connect(url)
      socket.write(request)
      statuses.push(await status)
    }
  }
  await Promise.all([sender(Math.ceil(times / 2)), sender(Math.floor(times / 2))])
  return statuses
}

/** Opens a connection. `status` is that of the first answer; 0 when it ends without one. */
async function connect(url: string) {
  const { socket, ended } = await connectTo(url)
  const status = ended.then((text) => {
    socket.destroy()
    return Number(text.slice(9, 12))
  })
  return { socket, status }
}
