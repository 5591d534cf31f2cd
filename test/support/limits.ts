import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'

/** The parts of an answer that tell of a limit, as `fetch` and the tests' own client have them. */
interface Limited {
  readonly status: number
  readonly headers: Headers
}

/**
 * Takes from a limit of 60 a minute all that several processes let through, each by itself, and waits
 * until each knows what the others did: then a bucket or more is owed, and the next request is taken
 * in a minute or later. By itself each would say a second. `ask` reaches all of them in turn.
 */
export async function assertLimitShared(
  processes: number,
  ask: () => Promise<Limited>,
): Promise<void> {
  const replies = await Promise.all(Array.from({ length: processes * 90 }, ask))
  const allowed = replies.filter(({ status }) => status === 200).length
  assert.ok(allowed >= 60 && allowed < replies.length, `${allowed} of ${replies.length}`)
  for (let polls = 0, inTurn = 0; inTurn < 4 * processes; polls++) {
    assert.ok(polls < 1_000, 'they do not hear of each other')
    const { status, headers } = await ask()
    const isOwed = status === 429 && Number(headers.get('retry-after')) > 5
    inTurn = isOwed ? inTurn + 1 : 0
    if (!isOwed) await setTimeout(50)
  }
}
