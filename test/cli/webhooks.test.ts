import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTill, openSqliteStorage } from '../../lib/index.ts'
import { tillkit } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { type Received, startReceiver } from '../support/receiver.ts'
import { createShopFile } from '../support/served.ts'
import { soakOnly } from '../support/soak.ts'

const ARGS = ['--webhook-allow-private']
const ENV = { TILLKIT_WEBHOOK_RETRIES: '1' }

/** A shop on a file whose project sends its events to a receiver, and commands on that file. */
async function setUp(t: TestContext, { isUnset = false } = {}) {
  const receiver = await startReceiver(t)
  const shop = await createShopFile(t, { sendsWebhooks: true })
  const { json, ofProject } = shop
  const config = JSON.stringify({ webhook_url: `${receiver.url}/hook` })
  if (!isUnset) await json('project', 'update', ...ofProject, '--config', config)
  const endpoint = async () => (await json('webhooks', 'list')).endpoints[0]
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
  return { ...shop, receiver, endpoint, createItems }
}

function itemsOf(received: readonly Received[]): Set<string> {
  return new Set(received.map(({ body }) => JSON.parse(body).data.item?.name))
}

/** Waits, because the thread of the sender reports its counters from time to time. */
async function assertMetrics(url: string, lines: readonly string[]): Promise<void> {
  await eventuallyHolds(async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text()
    for (const line of lines) assert.ok(metrics.includes(`\n${line}\n`), line)
  })
}

test('serve sends webhooks, and with --no-webhooks it does not', async (t) => {
  const { receiver, serveHere, createItems, endpoint, run, project_id } = await setUp(t)
  const silent = await serveHere([...ARGS, '--no-webhooks'])
  await createItems(silent.api, 0, 3)
  const { code, stderr } = await run('webhooks', 'test', project_id)
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^tillkit: No server has sent the event within 3 s\. Start tillkit serve, or wait: earlier\s+events come first$/m,
  )
  silent.stop('SIGTERM')
  await silent.closed
  assert.equal((await endpoint()).lag, 4)
  // Nothing is sent to the loopback unless it is allowed.
  const careful = await serveHere([], ENV)
  await eventuallyHolds(async () => {
    const error = (await endpoint()).last_failure?.error ?? ''
    assert.match(error, /^The URL is not https: only a server with --webhook-allow-private /)
  })
  careful.stop('SIGTERM')
  await careful.closed
  assert.equal(receiver.connections(), 0)
  const sending = await serveHere([...ARGS, '--metrics'], ENV)
  await createItems(sending.api, 3, 2)
  await eventuallyHolds(() => assert.equal(itemsOf(receiver.received).size, 6))
  await eventuallyHolds(async () => assert.equal((await endpoint()).lag, 0))
  await assertMetrics(sending.url, [
    'tillkit_webhook_requests_total{result="2xx"} 6',
    'tillkit_webhook_requests_total{result="timeout"} 0',
    'tillkit_webhook_endpoints{state="active"} 1',
    'tillkit_webhook_endpoints_failing 0',
    'tillkit_webhook_lag_events 0',
    'tillkit_webhook_lag_seconds 0',
  ])
  sending.stop('SIGTERM')
  assert.equal(await sending.closed, 0)
})

test('the parent of the workers sends webhooks, and its counters are in the metrics', {
  skip: soakOnly,
}, async (t) => {
  const { receiver, serve, createItems } = await setUp(t)
  const { url, api, child, ended } = await serve([...ARGS, '--workers', '2', '--metrics'], ENV)
  await createItems(api, 0, 20)
  await eventuallyHolds(() => assert.equal(itemsOf(receiver.received).size, 20))
  assert.equal(receiver.received.length, 20)
  await assertMetrics(url, ['tillkit_webhook_requests_total{result="2xx"} 20'])
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
})

test('a URL that a session set waits for confirmation, and serve warns of it', async (t) => {
  const shop = await setUp(t, { isUnset: true })
  const { db, run, project_id: id, token, serveHere, endpoint } = shop
  const url = 'https://shop.example/hook'
  const till = createTill({ storage: await openSqliteStorage(db) })
  const session = await till.sessions.authenticate(token)
  await till.projects.update(session, { id, config: { webhook_url: url } })
  await till.close()

  const { state, unconfirmed_url, unconfirmed_at } = await endpoint()
  assert.deepEqual([state, unconfirmed_url], ['unconfirmed', url])
  const { log } = await serveHere(ARGS, ENV)
  const warning = 'wait for a confirmation: 1'
  await eventuallyHolds(() =>
    assert.ok(
      log.some((line) => line.includes(warning)),
      `${log}`,
    ),
  )
  const { stdout } = await run('webhooks', 'list')
  const command = `tillkit webhooks confirm ${id} --url '${url}' --set-at ${unconfirmed_at} --db ${db}`
  assert.ok(stdout.endsWith(`A session set (new URL, no secret): ${command}\n`), stdout)

  const confirm = (...args: string[]) => run('webhooks', 'confirm', id, '--url', ...args)
  assert.equal((await confirm(`${url}2`)).code, 1)
  assert.equal((await confirm(url, '--set-at', '2026-01-31T12:00:00.000Z')).code, 1)
  assert.equal((await confirm(url, '--set-at', unconfirmed_at)).code, 0)
  assert.deepEqual([(await endpoint()).state, (await endpoint()).url], ['active', url])
})

test('the commands pause, resume, test and replay an endpoint, and show its log', async (t) => {
  const { db, run, json, project, receiver, serveHere, createItems, endpoint } = await setUp(t)
  const { id } = project
  const { api } = await serveHere(ARGS, ENV)
  assert.equal((await json('webhooks', 'pause', id)).state, 'paused')
  await createItems(api, 0, 2)
  assert.equal((await json('webhooks', 'resume', id)).state, 'active')
  await eventuallyHolds(() => assert.equal(itemsOf(receiver.received).size, 2))

  const { stderr } = await run('webhooks', 'test', id)
  assert.equal(stderr, 'The event is delivered: status 204\n')
  const typesOf = () => receiver.received.map(({ body }) => JSON.parse(body).type)
  await eventuallyHolds(() => assert.ok(typesOf().includes('webhook.test')))
  await eventuallyHolds(async () => assert.equal((await endpoint()).lag, 0))

  const { deliveries } = await json('webhooks', 'log', id, '--state', 'delivered')
  assert.deepEqual(
    deliveries.map(({ type }: { type: string }) => type),
    ['webhook.test', 'item.created', 'item.created'],
  )
  const before = receiver.received.length
  await json('webhooks', 'replay', id, '--from', String(deliveries.at(-1).sequence))
  await eventuallyHolds(() => assert.equal(receiver.received.length, before + 3))
  await json('webhooks', 'replay', id, '--since', '2026-01-01')
  await eventuallyHolds(() => assert.ok(receiver.received.length >= before + 6))
  const tests = () => typesOf().filter((type) => type === 'webhook.test').length
  await eventuallyHolds(async () => assert.equal((await endpoint()).lag, 0))
  const sent = tests()
  await json('webhooks', 'resend', id, '--id', deliveries[0].webhook_id)
  await eventuallyHolds(() => assert.equal(tests(), sent + 1))

  for (const words of [['list'], ['log', id]]) {
    const options = { columns: 80 }
    const { stdout } = await tillkit(['webhooks', ...words, '--db', db], options)
    assert.match(stdout, new RegExp(words[0] === 'list' ? id : 'item.created'))
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line)
  }
  const confirmed = await run('webhooks', 'confirm', id)
  assert.match(confirmed.stderr, /^tillkit: The endpoint has no unconfirmed URL$/m)
  await json('webhooks', 'pause', id)
  const paused = await run('webhooks', 'test', id)
  assert.match(paused.stderr, /^The endpoint is paused: the event waits until webhooks resume$/m)
})

test('no character of a URL that a session set reaches the terminal or the shell', async (t) => {
  const { db, project_id: id, token, run } = await setUp(t)
  const storage = await openSqliteStorage(db)
  const till = createTill({ storage })
  const session = await till.sessions.authenticate(token)
  const set = (webhook_url: string) =>
    till.projects.update(session, { id, config: { webhook_url, webhook_secret: 'a' } })
  const list = async () => (await run('webhooks', 'list')).stdout
  await set("https://sh\u043ep.example/it's")
  assert.match(
    await list(),
    /secret\): .* --url 'https:\/\/xn--shp-ted\.example\/it'\\''s' --set-at \S+ --db \S+\n$/,
  )
  // As older versions stored it.
  const webhook_url = 'https://evil.example/\u001b[2J\u009b2J\u202e\n'
  const unconfirmed = { url: webhook_url }
  await storage.updateEndpoint(id, (current) => ({ ...current, unconfirmed }))
  await till.close()
  assert.match(
    await list(),
    /^[ -~\n]*no secret\): .* --url 'https:\/\/evil\.example\/%1B\[2J.*' --db \S+\n$/,
  )
})

test('a webhook_url without a secret warns, and so does one that gets no messages', async (t) => {
  const { project_id: id, folder, ...shop } = await setUp(t)
  const run = async (...args: string[]) => (await shop.run(...args)).stderr
  const warning = (owner: string) =>
    `warning: the webhooks of ${owner} are not signed: set a webhook_secret\n`
  const isPrivate = (owner: string) =>
    `warning: the webhook URL of ${owner} is http or private. To send to it, a server needs --webhook-allow-private, and an embedded sender allowPrivate\n`
  const disabled =
    'warning: the webhook_url of main receives nothing: its store_config has no "webhook_enabled": true\n'
  const shown = 'warning: --config shows a secret to other users of this machine: use @FILE\n'
  const url = { webhook_url: 'https://shop.example/' }
  const signed = { ...url, webhook_secret: 'a secret' }
  const local = { ...url, webhook_url: 'https://localhost/' }
  const set = (noun: string, name: string, config: object) =>
    run(noun, 'update', `--${noun}`, name, '--config', JSON.stringify(config))

  assert.equal(await run('webhooks', 'list'), warning(id) + isPrivate(id))
  assert.equal(await set('project', id, url), warning(id))
  assert.equal(await set('store', 'main', { ...url, currency: 'USD' }), disabled)
  assert.equal(await run('webhooks', 'list'), warning(id) + disabled)
  const enabled = { currency: 'USD', webhook_enabled: true }
  assert.equal(await set('store', 'main', { ...url, ...enabled }), warning('main'))
  assert.equal(await set('project', id, signed), shown)
  assert.equal(await set('store', 'main', { ...local, ...enabled }), isPrivate('main'))
  assert.equal(await run('webhooks', 'list'), isPrivate(`${id}/main`))

  const file = join(folder, 'catalog.json')
  const config = { webhook_url: 'https://shop.example/2' }
  const stores = [{ store_id: 'main', store_config: config, items: [] }]
  writeFileSync(file, JSON.stringify({ project: { id, config }, stores }))
  assert.equal(await run('catalog', 'apply', file), warning(id) + disabled)
  assert.equal(await run('catalog', 'apply', file), '', 'nothing has changed')
})
