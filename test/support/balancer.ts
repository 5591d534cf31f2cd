import { Agent, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'

export interface Balanced {
  readonly status: number
  readonly text: string
}

export interface Balancer {
  /** Sends to the next ready server. Rejects when the connection breaks, and never retries. */
  send(
    method: string,
    path: string,
    headers: { [name: string]: string },
    body?: string,
  ): Promise<Balanced>
  readonly ready: () => readonly string[]
  /** The number of connections opened so far. */
  readonly opened: () => number
  stop(): Promise<void>
}

/**
 * A load balancer: asks each server's `/readyz` every few milliseconds, and sends requests in turn
 * to those that answer 200, over keep-alive connections.
 */
export function createBalancer(urls: readonly string[]): Balancer {
  let ready: readonly string[] = []
  let turn = 0
  let opened = 0
  let isStopped = false
  const agents = new Map(urls.map((url) => [url, new Agent({ keepAlive: true })]))

  const ask = (
    url: string,
    method: string,
    path: string,
    headers: { [name: string]: string },
    body = '',
    agent?: Agent,
  ) =>
    new Promise<Balanced>((resolve, reject) => {
      const length = { 'content-length': String(Buffer.byteLength(body)) }
      const asked = request(url + path, { method, headers: { ...length, ...headers }, agent })
      asked.on('error', reject)
      asked.on('socket', () => {
        if (agent && !asked.reusedSocket) opened++
      })
      asked.on('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      asked.end(body)
    })

  const isReady = (url: string) =>
    ask(url, 'GET', '/readyz', { connection: 'close' }).then(
      ({ status }) => status === 200,
      () => false,
    )

  const follow = async () => {
    while (!isStopped) {
      const answers = await Promise.all(urls.map(isReady))
      ready = urls.filter((_, index) => answers[index])
      await setTimeout(20)
    }
  }
  const following = follow()

  return {
    async send(method, path, headers, body) {
      const url = ready[turn++ % ready.length]
      if (url === undefined) throw new Error('no server is ready')
      return ask(url, method, path, headers, body, agents.get(url))
    },
    ready: () => ready,
    opened: () => opened,
    async stop() {
      isStopped = true
      await following
      for (const agent of agents.values()) agent.destroy()
    },
  }
}
