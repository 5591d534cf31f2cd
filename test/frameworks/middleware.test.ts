import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { pluck } from '../support/collect.ts'
import {
  createExpress,
  createHost,
  listen,
  load,
  type Middleware,
  NEW_ITEM,
  useApi,
} from '../support/frameworks/host.ts'
import { assertProblem } from '../support/server.ts'

const PAGE = 'GET /shop/api/v1/items?store_id=main&limit=1'

/** Middleware that uses on-headers 1.0.2, which replaces `writeHead`. */
const middleware: { readonly [name: string]: () => Promise<Middleware> } = {
  'compression 1.7.4': async () => {
    const compression = await load<(options: object) => Middleware>('compression')
    return compression({ threshold: 0 })
  },
  'morgan 1.10.0': async () => {
    const morgan = await load<(format: string, options: object) => Middleware>('morgan')
    return morgan('tiny', { stream: { write() {} } })
  },
  'express-session 1.18.1': async () => {
    const session = await load<(options: object) => Middleware>('express-session')
    return session({ secret: 'x', resave: true, saveUninitialized: true })
  },
  'response-time 2.3.3': async () => (await load<() => Middleware>('response-time'))(),
}

for (const [name, create] of Object.entries(middleware)) {
  test(`behind ${name}, all headers and bodies arrive, and a 4xx is not logged as an error`, async (t) => {
    const { handler, till, token, log } = await createHost({ corsOrigins: ['*'] })
    const app = await createExpress()
    app.use(await create())
    app.use('/shop', handler)
    const { send } = await listen(t, createServer(app))

    await useApi(send, till)
    const page = await send(PAGE, { token, headers: { origin: 'https://game.example' } })
    assert.equal(page.headers.get('content-type'), 'application/json')
    assert.equal(page.headers.get('access-control-allow-origin'), '*')
    assertProblem(await send('DELETE /shop/api/v1/items'), 405, 'method_not_allowed')
    assert.deepEqual(new Set(pluck(log, 'level')), new Set(['info', 'debug']))
  })
}

test('a streamed list passes compression whole', async (t) => {
  const { handler, token, till, account } = await createHost()
  const meta = { text: 'x'.repeat(1000) }
  const items = Array.from({ length: 1100 }, (_, i) => ({ ...NEW_ITEM, name: `item_${i}`, meta }))
  for (const item of items) await till.items.create(account, { ...item, type: 'consumable' })
  const compression = await load<() => Middleware>('compression')
  const app = await createExpress()
  app.use(compression())
  app.use(handler)
  const { send } = await listen(t, createServer(app))

  const { headers, ...list } = await send('GET /api/v1/items?store_id=main', { token })

  assert.equal(headers.get('content-encoding'), 'gzip')
  assert.equal(list.json<{ items: object[] }>().items.length, 1102)
})
