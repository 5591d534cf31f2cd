import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createTill, openSqliteStorage, WEBHOOK_EVENTS } from '../lib/index.ts'
import { eventuallyHolds } from './support/eventually.ts'
import { temporaryFolder } from './support/folder.ts'
import { runPage } from './support/pages.ts'
import { startReceiver } from './support/receiver.ts'
import { outboxOf } from './support/storage/holding.ts'
import { createShop, fileOf } from './support/till.ts'

const page = readFileSync('docs/webhooks.md', 'utf8')
const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'
const ROW = 'T-1001,gold,2026-01-31T12:00:00Z,player-1,499,USD'

/** One real body of each event. */
async function collectBodies(): Promise<Map<string, unknown>> {
  const { till, account, project, item } = await createShop()
  const { id } = project
  const { id: item_id } = item
  const store_id = 'main'
  const importRows = (status: string) => {
    const file = fileOf(`${HEADER}${ROW},${status}\n`)
    return till.purchases.import(account, { store_id, file })
  }
  const config = { webhook_url: 'https://shop.example/hook' }
  await till.projects.update(account, { id, config })
  await till.projects.update(account, { id, name: 'Game 2' })
  await till.stores.create(account, { project_id: id, store_id: 'second', store_type: 'web' })
  await till.stores.update(account, { store_id, is_sandbox: true })
  await till.items.create(account, {
    ...{ store_id, name: 'sword', display_name: 'Sword', price: '499', type: 'non_consumable' },
  })
  await till.items.update(account, { id: item_id, price: '599' })
  await till.items.archive(account, item_id)
  await till.items.restore(account, item_id)
  await importRows('purchased')
  const { import_id = '' } = await importRows('refunded')
  const { messages: first } = await outboxOf(till).claim()
  await till.imports.undo(account, { import_id })
  await till.purchases.record(account, {
    ...{ store_id, transaction_id: 'T-1002', sku: 'gold', purchased_at: '2026-02-01T08:30:00Z' },
    ...{ user_id: 'player-1', price: 499, currency: 'USD' },
  })
  await till.webhooks.test(account, id)
  const { messages: second } = await outboxOf(till).claim()
  await till.users.erase(account, { project_id: id, user_id: 'player-1' })
  const { messages: third } = await outboxOf(till).claim()
  await till.close()
  const bodies = [...first, ...second, ...third].map(({ body }) => JSON.parse(body))
  return new Map(bodies.map((body) => [body.type, body]))
}

/** The types of all values, with the names of all fields. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]))
}

/** The table of events in the page: each event with the text of its row. */
function rowsOfPage(): ReadonlyMap<string, string> {
  const rows = page.matchAll(/^\| ((?:`[a-z]+\.[a-z]+`(?:, )?)+) \| (.*) \|$/gm)
  const pairs = [...rows].flatMap(([, events = '', fields = '']) =>
    [...events.matchAll(/`(.+?)`/g)].map(([, event = '']) => [event, fields] as const),
  )
  return new Map(pairs)
}

test('docs/webhooks.md names each event with the fields of a real one, and its examples have them', async () => {
  const bodies = await collectBodies()
  const rows = rowsOfPage()
  assert.deepEqual([...bodies.keys()].sort(), [...WEBHOOK_EVENTS].sort())
  assert.deepEqual([...rows.keys()].sort(), [...WEBHOOK_EVENTS].sort())
  for (const [event, body] of bodies) {
    const { data } = body as { data: { project?: object; store?: object } }
    const names = Object.keys({ ...data, ...data.project, ...data.store })
    const missing = names.filter((name) => !rows.get(event)?.includes(`\`${name}\``))
    assert.deepEqual(missing, [], event)
  }
  const examples = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) =>
    JSON.parse(json),
  )
  assert.ok(examples.length > 3)
  for (const example of examples) {
    assert.deepEqual(shapeOf(example), shapeOf(bodies.get(example.type)), example.type)
  }
})

type Verify = (headers: Record<string, string>, body: string, secret: string) => boolean

test('the verification of docs/webhooks.md accepts what standardwebhooks signs, and nothing else', async () => {
  const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? []
  const { isAuthentic } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    isAuthentic: Verify
  }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const sign = (body: string, at = new Date()) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': `v1,AAAA ${new Webhook(secret).sign('msg_1', at, body)}`,
  })
  const headers = sign('{"a":1}')
  assert.equal(isAuthentic(headers, '{"a":1}', secret), true)
  assert.equal(isAuthentic(headers, '{"a":2}', secret), false)
  assert.equal(isAuthentic({ ...headers, 'webhook-id': 'msg_2' }, '{"a":1}', secret), false)
  assert.equal(isAuthentic(headers, '{"a":1}', 'whsec_AAAA'), false)
  assert.equal(isAuthentic(sign('{"a":1}', new Date(0)), '{"a":1}', secret), false)
  assert.equal(isAuthentic({}, '{"a":1}', secret), false)
})

test('the verification of docs/webhooks.md accepts real messages, also with a secret of plain text', async () => {
  const [code = '', plain = ''] = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, js = '']) => js)
  const { isAuthentic } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  for (const webhook_secret of ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'a secret of words']) {
    const { till, account, project_id } = await createShop()
    const config = { webhook_url: 'https://shop.example/hook', webhook_secret }
    await till.projects.update(account, { id: project_id, config })
    await till.webhooks.test(account, project_id)
    const [{ headers, body } = assert.fail()] = (await outboxOf(till).claim()).messages
    assert.equal(isAuthentic(headers, body, webhook_secret), true)
    if (!webhook_secret.startsWith('whsec_')) {
      const verify = new Function('Webhook', 'secret', 'body', 'headers', plain)
      assert.doesNotThrow(() => verify(Webhook, webhook_secret, body, headers))
      assert.throws(() => verify(Webhook, 'another secret', body, headers), /signature/)
    }
    await till.close()
  }
})

test('the block for embedders sends a webhook to a private receiver', async (t) => {
  const folder = temporaryFolder(t)
  const receiver = await startReceiver(t)
  await using till = createTill({ storage: await openSqliteStorage(join(folder, 'shop.db')) })
  const { account, project_id: id } = await createShop(till)
  await till.projects.update(account, { id, config: { webhook_url: receiver.url } })
  const embedded = page.split('A program that embeds tillkit')[1]?.split('\n## ')[0] ?? ''

  const { stop } = await runPage(embedded, { folder })
  t.after(stop)
  await till.webhooks.test(account, id)

  await eventuallyHolds(() => assert.equal(receiver.received.length, 1))
})
