import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createMemoryStorage, createTill } from '../../../lib/index.ts'
import { fc } from '../seeds.ts'
import type { Target } from '../targets.ts'
import { createClock } from '../till.ts'
import { type Action, compared, modelled } from './actions.ts'
import { createLibraryRunner, type Runner } from './library.ts'
import { createModel } from './model.ts'

export interface Comparison {
  readonly target: Target
  readonly seed: number
  /** The number of sequences of operations to run. */
  readonly sequences: number
  /** No sequence begins after this time. */
  readonly milliseconds?: number
}

const START = Date.parse('2026-01-01T00:00:00Z')

/** Runs operations that the model knows. Throws with the shortest sequence that differs from it. */
export function compareWithModel(comparison: Comparison): Promise<void> {
  return compare(comparison, modelled, createModel)
}

/** Runs all operations. Throws with the shortest sequence whose outcomes differ in memory. */
export function compareWithMemory(comparison: Comparison): Promise<void> {
  return compare(comparison, compared, (t, now) => {
    const till = createTill({ storage: createMemoryStorage(), now })
    t.after(() => till.close())
    return createLibraryRunner(till)
  })
}

async function compare(
  { target, seed, sequences, milliseconds = Number.POSITIVE_INFINITY }: Comparison,
  actions: fc.Arbitrary<Action[]>,
  createReference: (t: Pick<TestContext, 'after'>, now: () => number) => Runner,
): Promise<void> {
  const until = Date.now() + milliseconds
  const property = fc.asyncProperty(actions, async (actions) => {
    if (Date.now() > until) return
    // The next sequence takes the same schema of PostgreSQL.
    const ends: (() => unknown)[] = []
    const t = { after: (end: () => unknown) => void ends.push(end) }
    const clock = createClock(START)
    const till = createTill({ storage: await target.open(t), now: clock.now })
    try {
      const reference = createReference(t, clock.now)
      const library = createLibraryRunner(till)
      for (const action of actions) {
        if (action.do === 'wait') clock.pass(action.seconds * 1000)
        const expected = await reference(action)
        assert.deepEqual(await library(action), expected, JSON.stringify(action))
      }
      assert.deepEqual(await till.operator.check(), [])
    } finally {
      await till.close()
      for (const end of ends.reverse()) await end()
    }
  })
  await fc.assert(property, { seed, numRuns: sequences, includeErrorInReport: true })
}
