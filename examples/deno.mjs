// Deno: tillkit below /shop.
// deno run --allow-all deno.mjs
import process from 'node:process'
import { createTill, openSqliteStorage } from 'tillkit'
import { createFetchHandler } from 'tillkit/http'

const till = createTill({ storage: await openSqliteStorage('shop.db') })
const handler = createFetchHandler(till, { basePath: '/shop' })
const answer = async (request) =>
  request.method === 'POST' ? new Response(request.body) : new Response('Welcome')
Deno.serve({ port: Number(process.env.PORT ?? 3000) }, (request, info) =>
  handler(request, { client: info.remoteAddr.hostname, next: () => answer(request) }),
)
