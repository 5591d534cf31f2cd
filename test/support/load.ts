import assert from 'node:assert/strict'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { setTimeout } from 'node:timers/promises'

export interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/**
 * Sends a request on a connection of `agent`. Rejects when the connection ends before the answer,
 * or after 30 s of silence: when a worker dies while node:cluster hands a connection over to it,
 * the connection stays open for ever.
 */
export function ask(
  agent: Agent,
  url: string,
  headers: Record<string, string>,
  json?: object,
): Promise<Answered> {
  const body = json && JSON.stringify(json)
  const type = body ? { 'content-type': 'application/json' } : {}
  const method = body ? 'POST' : 'GET'
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? requestTls : request
    const sent = send(url, { agent, method, headers: { ...type, ...headers } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      })
      response.on('error', reject)
    })
    sent.setTimeout(30_000, () => sent.destroy(new Error('there was no answer')))
    sent.on('error', reject).end(body)
  })
}

/** The fields of an item, all derived from its name, so that a torn write would show. */
export function itemNamed(name: string) {
  return {
    store_id: 'main',
    name,
    display_name: `Item ${name}`,
    description: `${name} `.repeat(20),
    price: '499',
    type: 'consumable',
    meta: { name, text: name.repeat(50) },
  }
}

export interface ShownItem {
  readonly id: string
  readonly name: string
}

/** Asserts that an item has all fields that were sent. */
export function assertWhole(item: ShownItem): void {
  const { meta, ...fields } = itemNamed(item.name)
  assert.deepEqual(item, { ...fields, id: item.id, price: 499, metadata: meta })
}

export interface Writers {
  /** The acknowledged items: id to name. */
  readonly acknowledged: Map<string, string>
  /** The names of requests whose connection ended without an answer. */
  readonly unanswered: Set<string>
  /** Answers with a status other than 200. */
  readonly refused: Answered[]
  /** Stops the clients after their current request. */
  stop(): Promise<void>
}

/**
 * Clients that create items without a pause, each on a keep-alive connection. The name of an item
 * is also the `Idempotency-Key`. A client whose connection ends opens a new one for its next item.
 */
export function startWriters(
  api: string,
  account_key: string,
  { clients = 64, prefix = 'item' } = {},
): Writers {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const acknowledged = new Map<string, string>()
  const unanswered = new Set<string>()
  const refused: Answered[] = []
  let isStopped = false

  const write = async (name: string) => {
    try {
      const headers = { 'x-account-key': account_key, 'idempotency-key': name }
      const answer = await ask(agent, `${api}/items`, headers, itemNamed(name))
      if (answer.status === 200) acknowledged.set(JSON.parse(answer.text).id, name)
      else refused.push(answer)
    } catch {
      unanswered.add(name)
      await setTimeout(5)
    }
  }
  const writers = Array.from({ length: clients }, async (_, client) => {
    for (let n = 0; !isStopped; n++) await write(`${prefix}_${client}_${n}`)
  })
  return {
    acknowledged,
    unanswered,
    refused,
    async stop() {
      isStopped = true
      await Promise.all(writers)
      agent.destroy()
    },
  }
}

/** Processes a list with a limited number of workers at a time. */
export async function eachOf<T>(
  list: Iterable<T>,
  work: (each: T) => Promise<void>,
  atATime = 64,
): Promise<void> {
  const rest = list[Symbol.iterator]()
  const worker = async () => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atATime }, worker))
}
