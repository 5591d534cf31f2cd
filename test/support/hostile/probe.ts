// Requests /healthz every 20 ms in its own thread, and reports the longest wait.
import { Agent, get } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const agent = new Agent({ keepAlive: true })
let isStopped = false
let longest = 0
let failure: string | undefined

parentPort?.once('message', () => {
  isStopped = true
})

function ask(): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(`${workerData}/healthz`, { agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    request.setTimeout(20_000, () => request.destroy(new Error('no answer within 20 s')))
    request.once('error', reject)
  })
}

while (!isStopped) {
  const started = performance.now()
  try {
    const status = await ask()
    if (status !== 200) failure ??= `status ${status}`
  } catch (error) {
    failure ??= String(error)
  }
  longest = Math.max(longest, performance.now() - started)
  await setTimeout(20)
}
agent.destroy()
parentPort?.postMessage({ longest, failure })
