// Deno: tillkit below /shop.
import { createFetchHandler } from 'tillkit/http'

export function createApp(till) {
  const handler = createFetchHandler(till, { basePath: '/shop' })
  const own = async (request) =>
    request.method === 'POST' ? new Response(request.body) : new Response('Welcome')
  return (request, info) =>
    handler(request, { client: info.remoteAddr.hostname, next: () => own(request) })
}
// Deno.serve({ port: 3000 }, createApp(till))
