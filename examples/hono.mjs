// Hono: tillkit below /shop, on Node. On other runtimes, only the client's address differs.
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { createFetchHandler } from 'tillkit/http'

export function createApp(till) {
  const app = new Hono()
  const handler = createFetchHandler(till, { basePath: '/shop' })
  app.use(compress())
  app.all('/shop/*', (c) => handler(c.req.raw, { client: getConnInfo(c).remote.address }))
  app.get('/', (c) => c.text('Welcome'))
  app.post('/echo', async (c) => c.json(await c.req.json()))
  return app
}
// import { serve } from '@hono/node-server'
// serve({ fetch: createApp(till).fetch, port: 3000 })
