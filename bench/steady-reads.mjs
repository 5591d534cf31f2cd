// Reads at a steady rate: node steady-reads.mjs URL FILE RATE SECONDS. FILE has the requests as
// JSON. Prints the answers and their latencies in ms as JSON.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { percentile } from './table.mjs'

const [url, file, rate, seconds] = process.argv.slice(2)
const requests = JSON.parse(readFileSync(file, 'utf8'))
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const latencies = []
const started = performance.now()
let sent = 0

function read() {
  const { path, headers } = requests[sent++ % requests.length]
  const begun = performance.now()
  const outgoing = request(new URL(path, url), { agent, headers })
  outgoing.on('response', (response) => {
    response.resume().on('end', () => {
      if (response.statusCode !== 200) throw new Error(`read: ${response.statusCode}`)
      latencies.push(performance.now() - begun)
    })
  })
  outgoing.end()
}

const timer = setInterval(() => {
  const elapsed = (performance.now() - started) / 1000
  if (elapsed < Number(seconds)) {
    for (const due = Math.floor(elapsed * rate); sent < due; ) read()
  } else if (latencies.length === sent) {
    clearInterval(timer)
    agent.destroy()
    const [p50, p99] = [0.5, 0.99].map((part) => percentile(latencies, part))
    console.log(JSON.stringify({ answers: sent, p50, p99 }))
  }
}, 2)
