import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import {
  createExpress,
  createHost,
  listen,
  load,
  type Middleware,
  NEW_ITEM,
} from '../support/frameworks/host.ts'
import { assertProblem, importForm } from '../support/server.ts'

const CSV = 'transaction_id,sku,purchased_at\nT-1,gold,1709294400\n'

/** The handler in Express, behind a body parser. */
async function startBehind(t: TestContext, parser: Middleware) {
  const host = await createHost()
  const app = await createExpress()
  app.use(parser)
  app.use('/shop', host.handler)
  return { ...host, ...(await listen(t, createServer(app))) }
}

type Parsers = { readonly [name: string]: (options?: object) => Middleware }

for (const [name, options] of [
  ['json', {}],
  ['text', { type: '*/*' }],
  ['raw', { type: '*/*' }],
] as const) {
  test(`express.${name}() may have read the body of a JSON endpoint`, async (t) => {
    const { [name]: parser } = await load<Parsers>('express')
    const { send, account_key } = await startBehind(t, (parser as Parsers[string])(options))
    const path = 'POST /shop/api/v1/items'

    const created = await send(path, { account_key, json: NEW_ITEM })
    const repeated = await send(path, { account_key, json: NEW_ITEM })
    const array = await send(path, { account_key, json: [] })
    const empty = await send(path, { account_key, json: {} })

    assert.equal(created.json<{ name: string }>().name, 'potion')
    for (const refused of [repeated, array, empty]) assertProblem(refused, 400, 'invalid_request')
  })
}

test('an upload that multer has read is refused with advice, and logged', async (t) => {
  const multer = await load<(options?: object) => { any(): Middleware }>('multer')
  const { send, token, log } = await startBehind(t, multer().any())

  const reply = await send('POST /shop/api/v1/purchases/import', { token, body: importForm(CSV) })

  assert.match(assertProblem(reply, 500, 'body_already_read').detail, /before/)
  assert.match(log[0]?.error ?? '', /mount/)
})

test('a body of which a middleware has read a part is refused, and nothing hangs', async (t) => {
  const { send, account_key } = await startBehind(t, (request, _, next) => {
    request.once('data', () => {
      request.pause()
      next()
    })
  })
  const json = { ...NEW_ITEM, description: 'x'.repeat(200_000) }

  const reply = await send('POST /shop/api/v1/items', { account_key, json })

  assertProblem(reply, 500, 'body_already_read')
})
