// Hono: tillkit below /shop, on Node. On other runtimes, only the client's address differs.
// npm install hono @hono/node-server; node hono.mjs
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { createTill, openSqliteStorage } from 'tillkit'
import { createFetchHandler } from 'tillkit/http'

const till = createTill({ storage: await openSqliteStorage('shop.db') })
const app = new Hono()
const handler = createFetchHandler(till, { basePath: '/shop' })
app.use(compress())
app.all('/shop/*', (c) => handler(c.req.raw, { client: getConnInfo(c).remote.address }))
app.get('/', (c) => c.text('Welcome'))
app.post('/echo', async (c) => c.json(await c.req.json()))
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })
