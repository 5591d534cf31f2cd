// Bun: tillkit below /shop.
import { createFetchHandler } from 'tillkit/http'

export function createApp(till) {
  const handler = createFetchHandler(till, { basePath: '/shop' })
  const own = async (request) =>
    request.method === 'POST' ? new Response(request.body) : new Response('Welcome')
  return {
    port: 3000,
    fetch: (request, server) =>
      handler(request, {
        client: server.requestIP(request)?.address,
        next: () => own(request),
      }),
  }
}
// Bun.serve(createApp(till))
