import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { fc } from '../support/seeds.ts'
import { startServer } from '../support/server.ts'
import type { Target } from '../support/targets.ts'
import { assertAnswer } from './answers.ts'
import { type Answer, exchange } from './exchange.ts'
import { createRequests, type FuzzRequest } from './requests.ts'
import { createWorld } from './world.ts'

export interface Fuzzing {
  readonly target: Target
  readonly seed: number
  /** The number of requests. After each one, a request with a known response follows. */
  readonly requests: number
  /** No request is sent after this time. */
  readonly milliseconds?: number
}

/** Sends requests to a real server. Throws with the smallest request that got a wrong response. */
export async function fuzzServer(
  t: TestContext,
  { target, seed, requests: numRuns, milliseconds = Number.POSITIVE_INFINITY }: Fuzzing,
): Promise<void> {
  const { url, till, log } = await startServer(t, { storage: await target.open(t) })
  const world = await createWorld(till)
  const send = async (request: FuzzRequest): Promise<Answer> => {
    const filled = world.fill(request)
    const answer = await exchange(url, filled)
    assertAnswer(filled, answer, world)
    return answer
  }
  const before = await send(KNOWN_GOOD)
  const until = Date.now() + milliseconds
  const requests = await createRequests(url, world)
  const property = fc.asyncProperty(requests, async (request) => {
    if (Date.now() > until) return
    log.length = 0
    await send(request)
    const after = await send(KNOWN_GOOD)
    assert.deepEqual(after.body, before.body, 'the known request gets a different response')
    const errors = log.flatMap(({ error = [] }) => error)
    assert.deepEqual(errors, [], 'the server logged an error')
  })
  await fc.assert(property, { seed, numRuns, includeErrorInReport: true })
}

const KNOWN_GOOD: FuzzRequest = {
  endpoint: 'getItem',
  method: 'GET',
  target: '/api/v1/items/{{item_id}}',
  headers: [['Authorization', 'Bearer {{token}}']],
  body: '',
  isChunked: false,
  allowed: [200],
}
