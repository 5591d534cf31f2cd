// The requests of an account during an attack, in a thread of their own: see turns.mjs. Ends with the
// first message, and answers with the latencies in ms.
import { Agent, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const { url, account_key, token, store_id } = workerData
const agent = new Agent({ keepAlive: true })
const latencies = { health: [], read: [], write: [] }
let isOver = false

const key = { 'x-account-key': account_key }
const bearer = { authorization: `Bearer ${token}` }
const item = { store_id, display_name: 'N', price: '1', type: 'consumable' }
const started = Date.now().toString(36)
let n = 0
const running = [
  repeat(latencies.health, () => send('/healthz')),
  repeat(latencies.read, () => send(`/manage/v1/stores/${store_id}/owned?user_id=a`, key)),
  repeat(latencies.read, () => send(`/api/v1/items?store_id=${store_id}&limit=20`, bearer)),
  repeat(latencies.write, () => send('/api/v1/items', key, { ...item, name: `${started}${n++}` })),
]

parentPort.once('message', async () => {
  isOver = true
  await Promise.all(running)
  agent.destroy()
  parentPort.postMessage(latencies)
})

async function repeat(list, work) {
  while (!isOver) {
    const begun = performance.now()
    await work()
    list.push(performance.now() - begun)
    await setTimeout(20)
  }
}

function send(path, headers = {}, body = undefined) {
  const type = body && { 'content-type': 'application/json' }
  const method = body ? 'POST' : 'GET'
  return new Promise((resolve, reject) => {
    const all = { ...headers, ...type, 'x-victim': 'yes' }
    const outgoing = request(new URL(path, url), { agent, method, headers: all })
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      response.resume().on('end', resolve)
      if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`))
    })
    outgoing.end(body && JSON.stringify(body))
  })
}
