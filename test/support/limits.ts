import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'

/** The parts of an answer that tell of a limit, as `fetch` and the tests' own client have them. */
interface Limited {
  readonly status: number
  readonly headers: Headers
}

/** The limit of those whose sharing is tested: a request takes 30 s to fill again. */
export const SHARED_LIMIT = 2

/**
 * Asks several processes, `ask` reaches all of them, until each refuses what is too much for all of
 * them together. Each lets through a few at first, which is a debt: the next request is then taken
 * in more than the 30 s that a process which knows of itself alone would say at most.
 */
export async function assertLimitShared(ask: () => Promise<Limited>): Promise<void> {
  for (let polls = 0; ; polls++) {
    assert.ok(polls < 500, 'they do not hear of each other')
    const replies = await Promise.all(Array.from({ length: 40 }, ask))
    const isOwed = ({ status, headers }: Limited) =>
      status === 429 && Number(headers.get('retry-after')) > 30
    if (replies.every(isOwed)) return
    await setTimeout(50)
  }
}
