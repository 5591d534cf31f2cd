import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createTill, openSqliteStorage } from '../../lib/index.ts'
import { tillkit, tillkitJson } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { type Received, startReceiver } from '../support/receiver.ts'
import { createServedShop } from '../support/served.ts'

const ARGS = ['--webhook-allow-private']
const ENV = { TILLKIT_WEBHOOK_RETRIES: '1' }

/** A shop on a file whose project sends its events to a receiver, and commands on that file. */
async function openShop(t: TestContext, { isUnset = false } = {}) {
  const receiver = await startReceiver(t)
  const shop = await createServedShop(t)
  const run = (...args: string[]) => tillkitJson([...args, '--db', shop.db])
  const config = { webhook_url: `${receiver.url}/hook` }
  const setUrl = (url: string) => {
    const json = JSON.stringify({ ...config, webhook_url: url })
    return run('project', 'update', '--project', shop.project.id, '--config', json)
  }
  if (!isUnset) await setUrl(config.webhook_url)
  const endpoint = async () => (await run('webhooks', 'list')).endpoints[0]
  /** Creates items through a server. */
  const createItems = async (api: string, from: number, count: number) => {
    for (let i = from; i < from + count; i++) {
      const response = await fetch(`${api}/items`, {
        method: 'POST',
        headers: { 'x-account-key': shop.account_key, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ store_id: 'main', name: `sku_${i}`, display_name: 'Item', price: '1' },
          type: 'consumable',
        }),
      })
      assert.equal(response.status, 200, await response.text())
    }
  }
  return { ...shop, receiver, run, setUrl, endpoint, createItems }
}

function itemsOf(received: readonly Received[]): Set<string> {
  return new Set(received.map(({ body }) => JSON.parse(body).data.item?.name))
}

test('serve sends webhooks, and with --no-webhooks it does not', async (t) => {
  const { receiver, serve, createItems, endpoint } = await openShop(t)
  const silent = await serve([...ARGS, '--no-webhooks'])
  await createItems(silent.api, 0, 3)
  silent.child.kill('SIGTERM')
  await silent.ended
  assert.equal((await endpoint()).lag, 3)
  assert.equal(receiver.received.length, 0)
  const sending = await serve([...ARGS, '--metrics'])
  await createItems(sending.api, 3, 2)
  await eventuallyHolds(() => assert.equal(itemsOf(receiver.received).size, 5))
  await eventuallyHolds(async () => assert.equal((await endpoint()).lag, 0))
  const metrics = await (await fetch(`${sending.url}/metrics`)).text()
  for (const line of [
    'tillkit_webhook_requests_total{result="2xx"} 5',
    'tillkit_webhook_requests_total{result="timeout"} 0',
    'tillkit_webhook_endpoints{state="active"} 1',
    'tillkit_webhook_endpoints_failing 0',
    'tillkit_webhook_lag_events 0',
    'tillkit_webhook_lag_seconds 0',
  ]) {
    assert.ok(metrics.includes(`\n${line}\n`), line)
  }
  sending.child.kill('SIGTERM')
  assert.deepEqual(await sending.ended, { code: 0, signal: null })
})

test('without --webhook-allow-private nothing is sent to the loopback', async (t) => {
  const { receiver, serve, createItems, endpoint } = await openShop(t)
  const { api } = await serve([], ENV)
  await createItems(api, 0, 1)
  await eventuallyHolds(async () => {
    assert.equal((await endpoint()).last_failure?.error, 'The URL is not https')
  })
  assert.equal(receiver.connections(), 0)
})

test('workers share the endpoints', async (t) => {
  const { receiver, serve, createItems } = await openShop(t)
  const { api, child, ended } = await serve([...ARGS, '--workers', '2'], ENV)
  await createItems(api, 0, 20)
  await eventuallyHolds(() => assert.equal(itemsOf(receiver.received).size, 20))
  assert.equal(receiver.received.length, 20)
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
})

test('a URL that a session set waits for confirmation, and serve warns of it', async (t) => {
  const shop = await openShop(t, { isUnset: true })
  const { db, run, project, token, receiver, serve, createItems, endpoint } = shop
  const { id } = project
  const other = `${receiver.url}/other`
  const till = createTill({ storage: await openSqliteStorage(db) })
  const session = await till.sessions.authenticate(token)
  await till.projects.update(session, { id, config: { webhook_url: other } })
  await till.close()

  const { state, unconfirmed_url } = await endpoint()
  assert.deepEqual([state, unconfirmed_url], ['unconfirmed', other])
  const { api, log } = await serve(ARGS, ENV)
  await eventuallyHolds(() =>
    assert.ok(
      log.some((line) => line.includes('wait for a confirmation: 1')),
      `${log}`,
    ),
  )
  await createItems(api, 0, 1)
  const { stdout } = await tillkit(['webhooks', 'list', '--db', db])
  assert.match(stdout, /A session set .*\/other: tillkit webhooks confirm prj_/)

  await assert.rejects(run('webhooks', 'confirm', id, '--url', `${receiver.url}/x`), /ended with 1/)
  assert.equal((await run('webhooks', 'confirm', id, '--url', other)).state, 'active')
  await createItems(api, 1, 1)
  await eventuallyHolds(() => assert.ok(itemsOf(receiver.received).has('sku_1')))
  assert.ok(receiver.received.every(({ path }) => path === '/other'))
})

test('the commands pause, resume, test and replay an endpoint, and show its log', async (t) => {
  const { db, run, project, receiver, serve, createItems, endpoint } = await openShop(t)
  const { id } = project
  const { api } = await serve(ARGS, ENV)
  assert.equal((await run('webhooks', 'pause', id)).state, 'paused')
  await createItems(api, 0, 2)
  assert.equal((await run('webhooks', 'resume', id)).state, 'active')
  await eventuallyHolds(() => assert.equal(itemsOf(receiver.received).size, 2))

  await run('webhooks', 'test', id)
  const typesOf = () => receiver.received.map(({ body }) => JSON.parse(body).type)
  await eventuallyHolds(() => assert.ok(typesOf().includes('webhook.test')))
  await eventuallyHolds(async () => assert.equal((await endpoint()).lag, 0))

  const { deliveries } = await run('webhooks', 'log', id, '--state', 'delivered')
  assert.deepEqual(
    deliveries.map(({ type }: { type: string }) => type),
    ['webhook.test', 'item.created', 'item.created'],
  )
  const before = receiver.received.length
  await run('webhooks', 'replay', id, '--from', String(deliveries.at(-1).sequence))
  await eventuallyHolds(() => assert.equal(receiver.received.length, before + 3))
  await run('webhooks', 'replay', id, '--since', '2026-01-01')
  await eventuallyHolds(() => assert.ok(receiver.received.length >= before + 6))

  for (const words of [['list'], ['log', id]]) {
    const options = { columns: 80 }
    const { stdout } = await tillkit(['webhooks', ...words, '--db', db], options)
    assert.match(stdout, new RegExp(words[0] === 'list' ? id : 'item.created'))
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line)
  }
  const wrong = await tillkit(['webhooks', 'replay', id, '--db', db])
  assert.notEqual(wrong.code, 0)
  const unknown = await tillkit(['webhooks', 'test', 'prj_unknown', '--db', db])
  assert.match(unknown.stderr, /No webhook endpoint has this id/)
})

test('invalid retries are wrong usage', async () => {
  for (const retries of ['', '0', '5,', 'soon', '5,9999999']) {
    const env = { TILLKIT_WEBHOOK_RETRIES: retries || ',' }
    const { code, stderr } = await tillkit(['account', 'list', '--db', 'memory:'], { env })
    assert.equal(code, 2)
    assert.match(stderr, /TILLKIT_WEBHOOK_RETRIES must be a whole number from 1 to 2592000/)
  }
})
