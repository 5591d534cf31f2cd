// Fastify 5: tillkit below /shop, in its own plugin, which does not parse bodies.
// npm install fastify; node fastify.mjs
import fastify from 'fastify'
import { createTill, openSqliteStorage } from 'tillkit'
import { createHandler } from 'tillkit/http'

const till = createTill({ storage: await openSqliteStorage('shop.db') })
const app = fastify()
const handler = createHandler(till, {
  basePath: '/shop',
  log: (entry) => app.log[entry.level](entry, 'tillkit'),
})
app.register(async (shop) => {
  shop.removeAllContentTypeParsers()
  shop.addContentTypeParser('*', (_request, _body, done) => done(null))
  shop.all('/shop/*', (request, reply) => {
    reply.hijack()
    handler(request.raw, reply.raw)
  })
})
app.get('/', async () => 'Welcome')
app.post('/echo', async (request) => request.body)
await app.listen({ port: process.env.PORT ?? 3000 })
