// Bun: tillkit below /shop.
// bun bun.mjs
import { createTill, openSqliteStorage } from 'tillkit'
import { createFetchHandler } from 'tillkit/http'

const till = createTill({ storage: await openSqliteStorage('shop.db') })
const handler = createFetchHandler(till, { basePath: '/shop' })
const answer = async (request) =>
  request.method === 'POST' ? new Response(request.body) : new Response('Welcome')
Bun.serve({
  port: process.env.PORT ?? 3000,
  fetch: (request, server) =>
    handler(request, {
      client: server.requestIP(request)?.address,
      next: () => answer(request),
    }),
})
