import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createMemoryStorage, createTill } from '../../lib/index.ts'
import { fc } from '../support/seeds.ts'
import type { Target } from '../support/targets.ts'
import { calls, createWorld, outcomeOf } from './operations.ts'

export interface Comparison {
  readonly target: Target
  readonly seed: number
  /** The number of sequences of calls. */
  readonly sequences: number
  /** No sequence begins after this time. */
  readonly milliseconds?: number
}

/**
 * Runs sequences of calls, each with an account of its own. Throws with the shortest one whose
 * outcome differs from memory.
 */
export async function compareWithMemory(t: TestContext, comparison: Comparison): Promise<void> {
  const { target, seed, sequences, milliseconds = Number.POSITIVE_INFINITY } = comparison
  const until = Date.now() + milliseconds
  const now = () => Date.parse('2026-01-01T00:00:00Z')
  const till = createTill({ storage: await target.open(t), now })
  const reference = createTill({ storage: createMemoryStorage(), now })
  t.after(() => Promise.all([till.close(), reference.close()]))
  const property = fc.asyncProperty(calls, async (calls) => {
    if (Date.now() > until) return
    const [world, expected] = [await createWorld(till), await createWorld(reference)]
    for (const { input, run } of calls) {
      const found = await outcomeOf(run(world))
      assert.deepEqual(found, await outcomeOf(run(expected)), JSON.stringify(input))
    }
  })
  await fc.assert(property, { seed, numRuns: sequences, includeErrorInReport: true })
  assert.deepEqual(await till.operations.check(), [])
}
