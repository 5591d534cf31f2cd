// run: runtime
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventuallyHolds } from '../support/eventually.ts'
import { childrenOf, createShopFile } from '../support/served.ts'
import { soakOnly } from '../support/soak.ts'

/** Workers that send no webhooks, unless there are more arguments. */
async function startPool(t: TestContext, workers: number, more?: readonly string[]) {
  const shop = await createShopFile(t, { sendsWebhooks: more !== undefined })
  return { ...shop, ...(await shop.serve(['--workers', String(workers), ...(more ?? [])])) }
}

/** Sends a request on its own connection, so any worker may get it. */
async function ask(url: string, headers: { [name: string]: string } = {}) {
  return fetch(url, { headers: { connection: 'close', ...headers } })
}

test('each worker allows its part of a rate limit', async (t) => {
  const { api, token } = await startPool(t, 2, ['--no-webhooks', '--rate-limit', '5'])
  const headers = { authorization: `Bearer ${token}` }
  const asking = Array.from({ length: 40 }, () => ask(`${api}/items?store_id=main`, headers))
  const replies = await Promise.all(asking)
  const policies = new Set(replies.map(({ headers }) => headers.get('ratelimit-policy')))
  assert.deepEqual([...policies], ['"key";q=3;w=60'])
  const allowed = replies.filter(({ status }) => status === 200).length
  assert.ok(allowed >= 3 && allowed <= 6, `${allowed} of 40`)
})

test('a first worker that is killed before it listens is the reason of the failure', async (t) => {
  const kill = `import cluster from 'node:cluster'; cluster.isWorker && process.kill(process.pid, 'SIGKILL')`
  const { db } = await createShopFile(t)
  const node = ['--import', `data:text/javascript,${encodeURIComponent(kill)}`, 'dist/cli/main.js']
  const args = ['serve', '--workers', '2', '--port', '0', '--db', db]

  const { status, stderr } = spawnSync(process.execPath, [...node, ...args], { encoding: 'utf8' })

  assert.equal(status, 1)
  assert.equal(stderr, 'tillkit: The first worker was ended by SIGKILL\n')
})

/** Reads a metric by its name and labels from any worker. */
function figuresOf(url: string) {
  const figure = async (name: string) => {
    const reply = await ask(`${url}/metrics`)
    const text = await reply.text()
    assert.equal(reply.status, 200, text)
    const line = text.split('\n').find((each) => each.startsWith(`${name} `))
    return Number(line?.slice(name.length + 1))
  }
  /** Asks again while a busy machine keeps a worker from telling its figures in time. */
  const assertFigure = (name: string, value: number) =>
    eventuallyHolds(async () => assert.equal(await figure(name), value))
  return { figure, assertFigure }
}

const REFUSED = 'tillkit_http_requests_total{method="GET",route="/api/v1/items",status="401"}'
const DURATIONS = 'tillkit_http_request_duration_seconds_bucket{route="/api/v1/items",le="+Inf"}'

test('any worker serves the metrics of all; a killed one is replaced and logged, and its counters stay', async (t) => {
  const { url, api, child, closed, log } = await startPool(t, 2, ['--metrics'])
  const { figure, assertFigure } = figuresOf(url)
  const refuse = async (times: number) => {
    // In parallel, so no worker gets them all.
    const replies = await Promise.all(Array.from({ length: times }, () => ask(`${api}/items`)))
    for (const { status } of replies) assert.equal(status, 401)
  }
  await refuse(30)
  for (let i = 0; i < 10; i++) await assertFigure(REFUSED, 30)
  await assertFigure(DURATIONS, 30)
  await assertFigure('tillkit_storage_up', 1)
  const started = await figure('process_start_time_seconds')
  assert.ok(started > Date.now() / 1000 - 3600 && started < Date.now() / 1000, String(started))

  const before = childrenOf(child.pid)
  process.kill(before[0] as number, 'SIGKILL')
  const isReplaced = () => {
    const now = childrenOf(child.pid)
    return now.length === 2 && !now.includes(before[0] as number)
  }
  while (!isReplaced()) await setTimeout(20)
  await assertFigure(REFUSED, 30)
  await assertFigure('tillkit_worker_restarts_total', 1)
  const message = `worker ${before[0]} ended with SIGKILL`
  await eventuallyHolds(() => assert.ok(log.some((line) => line.includes(message))))
  await refuse(10)
  await assertFigure(REFUSED, 40)
  await assertFigure(DURATIONS, 40)
  await eventuallyHolds(async () => assert.ok((await figure('tillkit_http_connections')) < 10))
  child.kill('SIGTERM')
  assert.equal(await closed, 0)
})

test('a frozen worker is replaced', { skip: soakOnly }, async (t) => {
  const { api, token, child, closed, log } = await startPool(t, 2)
  const [frozen = 0] = childrenOf(child.pid)
  process.kill(frozen, 'SIGSTOP')

  await setTimeout(35_000)

  const now = childrenOf(child.pid)
  assert.ok(now.length === 2 && !now.includes(frozen), `${now}`)
  assert.ok(
    log.some((line) => line.includes(`worker ${frozen} is frozen`)),
    log.join('\n'),
  )
  const headers = { authorization: `Bearer ${token}` }
  const asking = Array.from({ length: 20 }, () => ask(`${api}/items?store_id=main`, headers))
  for (const { status } of await Promise.all(asking)) assert.equal(status, 200)
  child.kill('SIGTERM')
  assert.equal(await closed, 0)
})

test('scrapes that wait at the same time cause no warning of a memory leak', async (t) => {
  const { url, child, closed, log } = await startPool(t, 2, ['--metrics'])

  const replies = await Promise.all(Array.from({ length: 40 }, () => ask(`${url}/metrics`)))

  for (const { status } of replies) assert.equal(status, 200)
  child.kill('SIGTERM')
  await closed
  assert.deepEqual(
    log.filter((line) => line.includes('MaxListeners')),
    [],
  )
})
