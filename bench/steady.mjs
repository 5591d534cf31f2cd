// Creates items at a steady rate until its standard input ends: node steady.mjs URL KEY RATE. Then
// prints the rate of the answers.
import { Agent, request } from 'node:http'

const [url, key, rate] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 32 })
const headers = { 'x-account-key': key, 'content-type': 'application/json' }
const started = performance.now()
let sent = 0
let answered = 0

function create() {
  const outgoing = request(new URL('/api/v1/items', url), { method: 'POST', agent, headers })
  outgoing.on('response', (response) => {
    response.resume().on('end', () => {
      if (response.statusCode !== 200) throw new Error(`create: ${response.statusCode}`)
      answered++
    })
  })
  const name = `steady_${++sent}`
  const item = { store_id: 'main', name, display_name: name, price: '499', type: 'consumable' }
  outgoing.end(JSON.stringify(item))
}

// Catches up after delays, unless the server is slower: then at most 256 requests wait.
const timer = setInterval(() => {
  const due = Math.floor(((performance.now() - started) / 1000) * rate)
  while (sent < due && sent - answered < 256) create()
}, 5)

process.stdin.resume().on('end', () => {
  clearInterval(timer)
  const seconds = (performance.now() - started) / 1000
  process.stdout.write(`${answered / seconds}\n`, () => process.exit())
})
