import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'

/** The rate limit parts of a response, as `fetch` and the test client return them. */
interface Limited {
  readonly status: number
  readonly headers: Headers
}

/** The limit in tests of shared limits: one request refills in 30 s. */
export const SHARED_LIMIT = 2

/**
 * Sends requests to several processes until each refuses what exceeds their common limit. Each
 * process first allows a few requests too many, which is a debt. The next request must then wait
 * longer than 30 s, the most that a process with its own bucket would ask for.
 */
export async function assertLimitShared(ask: () => Promise<Limited>): Promise<void> {
  for (let polls = 0; ; polls++) {
    assert.ok(polls < 200, 'the processes do not share the limit')
    const replies = await Promise.all(Array.from({ length: 40 }, ask))
    const isOwed = ({ status, headers }: Limited) =>
      status === 429 && Number(headers.get('retry-after')) > 30
    if (replies.every(isOwed)) return
    await setTimeout(200)
  }
}
