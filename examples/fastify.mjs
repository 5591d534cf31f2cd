// Fastify 5: tillkit below /shop, in its own plugin, which does not parse bodies.
import fastify from 'fastify'
import { createHandler } from 'tillkit/http'

export function createApp(till) {
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
  return app
}
// await createApp(till).listen({ port: 3000 })
