// node:http: tillkit below /shop, beside the paths of the application.
import { createServer } from 'node:http'
import { createHandler } from 'tillkit/http'

export function createApp(till) {
  const handler = createHandler(till, { basePath: '/shop' })
  const server = createServer((request, response) => {
    handler(request, response, () => answer(request, response))
  })
  process.once('SIGTERM', () => {
    handler.drain() // load balancers see /shop/readyz fail, and send no more requests
    setTimeout(() => server.close(), 10_000)
  })
  return server
}

function answer(request, response) {
  if (request.url === '/echo') request.pipe(response)
  else response.end('Welcome')
}
// createApp(till).listen(3000)
