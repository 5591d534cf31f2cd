import type { Answer } from './client.ts'
import { NoAnswer } from './outcomes.ts'
import type { EndpointNumber } from './routes.ts'
import type { World } from './world.ts'

/** No check can run: the server does not answer, or refuses the public key or the account key. */
export class Unreachable extends Error {}

/**
 * Sends three requests with the public key and three with the account key. Throws an Unreachable if
 * the server does not answer, or if it refuses all three requests with one of the keys.
 */
export async function assertReachable(world: World, url: string): Promise<void> {
  const { call, newSession, session } = world
  const sessions = await settle([call(1), session(), call(3, { json: newSession() })])
  const [lost] = sessions.lost
  if (lost && sessions.answers.length === 0) {
    throw new Unreachable(`${url} does not answer: ${lost.message}`)
  }
  if (!sessions.answers.some(({ status }) => status <= 299)) {
    const statuses = sessions.answers.map(({ status }) => status).join(', ')
    throw new Unreachable(
      `${url} opens no session: endpoints 1 to 3 answer ${statuses}. ` +
        'Check --public-key, and that --url is the part before /api/v1',
    )
  }
  // Empty requests create nothing: with a valid key, the server refuses them with 400.
  const creating: EndpointNumber[] = [4, 8, 10]
  const { answers } = await settle(creating.map((number) => call(number, { json: {} })))
  if (answers.length === 3 && answers.every(({ status }) => status === 401)) {
    throw new Unreachable(
      `${url} refuses the account key: endpoints 4, 8 and 10 answer 401. Check --account-key`,
    )
  }
}

async function settle(requests: readonly Promise<Answer>[]) {
  const answers: Answer[] = []
  const lost: NoAnswer[] = []
  for (const result of await Promise.allSettled(requests)) {
    if (result.status === 'fulfilled') answers.push(result.value)
    else if (result.reason instanceof NoAnswer) lost.push(result.reason)
    else throw result.reason
  }
  return { answers, lost }
}
