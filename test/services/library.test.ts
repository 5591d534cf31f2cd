import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFetchHandler, createHandler, serve } from '../../http/index.ts'
import { createMemoryStorage, createTill, type ErrorCode, TillError } from '../../lib/index.ts'
import { createShop, fileOf, memoryTill } from '../support/till.ts'

const PROJECT = { name: 'Other', bundle_id: 'com.example.other', platform: 'web' }

test('a project, an item or a store as the caller of an operation does not compile', async () => {
  const { till, account, project, item, store } = await createShop()

  // @ts-expect-error a project is not an account
  await assert.rejects(till.projects.list(project), TypeError)
  // @ts-expect-error an item is not an account
  await assert.rejects(till.projects.list(item), TypeError)
  // @ts-expect-error a store is not an account
  await assert.rejects(till.projects.list(store), TypeError)
  // @ts-expect-error a project is not a caller
  await assert.rejects(till.items.list(project, { store_id: 'main' }), TypeError)
  // @ts-expect-error reading all stores starts at the first: only a page has a cursor
  till.stores.all(account, { project_id: project.id, cursor: '1' })
})

test('an unknown option of a call, a handler or a server is a TypeError', async () => {
  const { till, account } = await createShop()
  const options = { idempotency_key: 'k-1' } as never
  const message = 'there is no call option idempotency_key'
  const create = till.projects.create(account, PROJECT, options)
  await assert.rejects(create, { name: 'TypeError', message })
  await assert.rejects(till.accounts.addKey(account, options), TypeError)
  const request = { store_id: 'main', file: fileOf('') }
  await assert.rejects(till.purchases.import(account, request, options), TypeError)
  await assert.rejects(till.operator.rotateSigningKeys({ keep: 'all' } as never), TypeError)
  assert.equal((await till.projects.list(account)).projects.length, 1)

  const rateLimits = { rateLimits: 5 } as never
  const expected = { name: 'TypeError', message: 'there is no option rateLimits' }
  assert.throws(() => createHandler(till, rateLimits), expected)
  assert.throws(() => createHandler(till, { limits: { jsonByte: 1 } as never }), {
    message: 'there is no limit jsonByte',
  })
  await assert.rejects(serve(till, rateLimits), TypeError)
})

test('a missing or wrong option is a TypeError that names it', async () => {
  const till = memoryTill()
  const message = /^createTill needs a storage/
  for (const wrong of [undefined, createMemoryStorage()]) {
    assert.throws(() => createTill(wrong as never), { name: 'TypeError', message })
  }
  assert.throws(() => createHandler(undefined as never), /needs a till/)
  assert.throws(() => createHandler(till, null as never), /options must be an object/)
  for (const [name, value] of Object.entries({
    basePath: '/shop/',
    authenticateAccount: 'acc_1',
    limits: 5,
    corsOrigins: 'https://shop.example',
    rateLimit: '100',
    rateLimitAddress: 0,
    trustProxy: 'loopback',
    docs: 'yes',
    metrics: 1,
    poolMetrics: {},
    webhooks: 'on',
    log: 'info',
    logOnlyErrors: 'no',
  })) {
    const expected = { name: 'TypeError', message: new RegExp(`^the option ${name} must be`) }
    assert.throws(() => createHandler(till, { [name]: value }), expected)
    assert.throws(() => createFetchHandler(till, { [name]: value }), expected)
  }
  for (const jsonBytes of ['1mb', -1, Number.NaN, null]) {
    assert.throws(() => createHandler(till, { limits: { jsonBytes: jsonBytes as never } }), {
      name: 'TypeError',
      message: 'the limit jsonBytes must be a number from 0',
    })
  }
  createHandler(till, { limits: { jsonBytes: undefined as never }, log: undefined })
  for (const port of ['3000', 'abc', 99_999, -1, 1.5]) {
    const expected = { name: 'TypeError', message: /^the option port/ }
    await assert.rejects(serve(till, { port: port as never }), expected)
  }
})

test('a request of the other kind is a TypeError that names the right function', async () => {
  const till = memoryTill()
  const request = new Request('http://localhost/healthz')
  const other = { name: 'TypeError', message: /use createFetchHandler/ }
  assert.throws(() => createHandler(till)(request as never, undefined as never), other)
  await assert.rejects(createFetchHandler(till)({ url: '/', headers: {} } as never), {
    name: 'TypeError',
    message: /use createHandler/,
  })
})

test('await using closes the storage of a till, and stops a server', async () => {
  const storage = createMemoryStorage()
  let closed = 0
  const close = async () => void closed++
  await createTill({ storage: { ...storage, close } })[Symbol.asyncDispose]()
  assert.equal(closed, 1)

  const server = await serve(memoryTill(), { port: 0 })
  await server[Symbol.asyncDispose]()
  await assert.rejects(fetch(`${server.url}/healthz`))
})

test('an error has the HTTP status of its kind', () => {
  const rows: [ErrorCode, number][] = [
    ['invalid_request', 400],
    ['token_required', 401],
    ['item_not_found', 404],
    ['version_conflict', 409],
    ['etag_mismatch', 412],
    ['storage_unavailable', 503],
  ]
  for (const [code, status] of rows) assert.equal(new TillError(code, '').status, status)
})
