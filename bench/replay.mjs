// The limit: bare node:http that sends one recorded answer of ours to every request.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const NODES_OWN = ['date', 'connection', 'keep-alive']

const { headers, text } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const sent = Object.fromEntries(Object.entries(headers).filter(([key]) => !NODES_OWN.includes(key)))
const body = Buffer.from(text)
const server = createServer((request, response) => {
  request.resume()
  response.writeHead(200, sent)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
