// A webhook receiver that accepts everything. Answers a GET with the number of messages so far.
import { createServer } from 'node:http'

const ids = new Set()
const server = createServer((request, response) => {
  if (request.method === 'GET') return response.end(String(ids.size))
  request.resume()
  request.on('end', () => {
    ids.add(request.headers['webhook-id'])
    response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
