import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createFetchHandler, createHandler, serve } from '../../http/index.ts'
import { createMemoryStorage, createTill, type ErrorCode, TillError } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { createShop, fileOf, memoryTill } from '../support/till.ts'

const PROJECT = { name: 'Other', bundle_id: 'com.example.other', platform: 'web' }
const ITEM = { store_id: 'main', display_name: 'Item', price: '1', type: 'consumable' } as const

test('a project, an item or a store as the caller of an operation does not compile', async () => {
  const { till, project, item, store } = await createShop()

  // @ts-expect-error a project is not an account
  await assert.rejects(till.projects.list(project), TypeError)
  // @ts-expect-error an item is not an account
  await assert.rejects(till.projects.list(item), TypeError)
  // @ts-expect-error a store is not an account
  await assert.rejects(till.projects.list(store), TypeError)
  // @ts-expect-error a project is not a caller
  await assert.rejects(till.items.list(project, { store_id: 'main' }), TypeError)
})

test('a new project takes its account from the caller', async () => {
  const { till, account } = await createShop()

  const project = await till.projects.create(account, PROJECT)

  assert.equal(project.account_id, account.account_id)
})

test('every list returns 100 records by default and 1000 at most', async () => {
  const { till, account, project } = await createShop()
  for (let n = 0; n < 100; n++) {
    await till.accounts.create({ name: `Account ${n}` })
    await till.projects.create(account, PROJECT)
    await till.stores.create(account, { project_id: project.id, store_type: 'web' })
    await till.items.create(account, { ...ITEM, name: `item_${n}` })
  }
  const rows = Array.from({ length: 101 }, (_, n) => `T-${n},gold,2024-03-01T12:00:00Z\n`)
  const file = fileOf('transaction_id,sku,purchased_at\n', ...rows)
  await till.purchases.import(account, { store_id: 'main', file })

  const lists = {
    accounts: async (page: object) => (await till.accounts.list(page)).accounts,
    projects: async (page: object) => (await till.projects.list(account, page)).projects,
    stores: async (page: object) =>
      (await till.stores.list(account, { project_id: project.id, ...page })).stores,
    items: async (page: object) =>
      (await till.items.list(account, { store_id: 'main', ...page })).items,
    purchases: async (page: object) =>
      (await till.purchases.list(account, { store_id: 'main', ...page })).purchases,
    audit: async (page: object) => (await till.operations.listAudit(page)).entries,
  }

  for (const [name, list] of Object.entries(lists)) {
    assert.equal((await list({})).length, 100, name)
    assert.ok((await list({ limit: 1000 })).length > 100, name)
    await assert.rejects(list({ limit: 1001 }), { code: 'invalid_request' }, name)
  }
  assert.equal((await collect(till.items.all(account, { store_id: 'main' }))).length, 101)
})

describe('options', () => {
  test('of a call are refused when unknown', async () => {
    const { till, account } = await createShop()
    const options = { idempotency_key: 'k-1' } as never
    const file = fileOf('')

    await assert.rejects(till.projects.create(account, PROJECT, options), {
      name: 'TypeError',
      message: 'there is no call option idempotency_key',
    })
    await assert.rejects(till.accounts.addKey(account, options), TypeError)
    await assert.rejects(
      till.purchases.import(account, { store_id: 'main', file }, options),
      TypeError,
    )
    await assert.rejects(till.operations.rotateSigningKeys({ keep: 'all' } as never), TypeError)
    assert.equal((await till.projects.list(account)).projects.length, 1)
  })

  test('of a handler and a server are refused when unknown', async () => {
    const till = memoryTill()
    const options = { rateLimits: 5 } as never

    assert.throws(() => createHandler(till, options), {
      name: 'TypeError',
      message: 'there is no option rateLimits',
    })
    assert.throws(() => createHandler(till, { limits: { jsonByte: 1 } as never }), {
      message: 'there is no limit jsonByte',
    })
    await assert.rejects(serve(till, options), TypeError)
  })
})

describe('mistakes of a new user', () => {
  const till = memoryTill()

  test('an option or a till that is missing is a TypeError', () => {
    const message = /^createTill needs a storage/
    for (const wrong of [undefined, createMemoryStorage()]) {
      assert.throws(() => createTill(wrong as never), { name: 'TypeError', message })
    }
    assert.throws(() => createHandler(undefined as never), /needs a till/)
    assert.throws(() => createHandler(till, null as never), /options must be an object/)
  })

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
    test(`the handler option ${name} with a wrong value is a TypeError that names it`, () => {
      const expected = { name: 'TypeError', message: new RegExp(`^the option ${name} must be`) }
      assert.throws(() => createHandler(till, { [name]: value }), expected)
      assert.throws(() => createFetchHandler(till, { [name]: value }), expected)
    })
  }

  test('a limit that is not a number is a TypeError, and undefined keeps the default', () => {
    for (const jsonBytes of ['1mb', -1, Number.NaN, null]) {
      assert.throws(() => createHandler(till, { limits: { jsonBytes: jsonBytes as never } }), {
        name: 'TypeError',
        message: 'the limit jsonBytes must be a number from 0',
      })
    }
    createHandler(till, { limits: { jsonBytes: undefined as never }, log: undefined })
  })

  test('a port that is not a number is a TypeError', async () => {
    for (const port of ['3000', 'abc', 99_999, -1, 1.5]) {
      await assert.rejects(serve(till, { port: port as never }), {
        name: 'TypeError',
        message: /^the option port/,
      })
    }
  })

  test('a request of the other kind is a TypeError that names the right function', async () => {
    const request = new Request('http://localhost/healthz')
    assert.throws(() => createHandler(till)(request as never, undefined as never), {
      name: 'TypeError',
      message: /use createFetchHandler/,
    })
    await assert.rejects(createFetchHandler(till)({ url: '/', headers: {} } as never), {
      name: 'TypeError',
      message: /use createHandler/,
    })
  })
})

describe('await using', () => {
  test('closes the storage of a till', async () => {
    const storage = createMemoryStorage()
    let closed = 0
    const close = async () => void closed++

    await createTill({ storage: { ...storage, close } })[Symbol.asyncDispose]()

    assert.equal(closed, 1)
  })

  test('stops a server', async () => {
    const server = await serve(memoryTill(), { port: 0 })

    await server[Symbol.asyncDispose]()

    await assert.rejects(fetch(`${server.url}/healthz`))
  })
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
