// node:http: tillkit below /shop, beside the paths of the application.
// node node-http.mjs
import { createServer } from 'node:http'
import { createTill, openSqliteStorage } from 'tillkit'
import { createHandler } from 'tillkit/http'

const till = createTill({ storage: await openSqliteStorage('shop.db') })
const handler = createHandler(till, { basePath: '/shop' })
const server = createServer((request, response) => {
  handler(request, response, () => answer(request, response))
})
process.once('SIGTERM', () => {
  handler.drain() // load balancers see /shop/readyz fail, and send no more requests
  setTimeout(() => server.close(till.close), 10_000)
})
server.listen(process.env.PORT ?? 3000)

function answer(request, response) {
  if (request.url === '/echo') request.pipe(response)
  else response.end('Welcome')
}
