import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createTill } from '../../lib/index.ts'
import { fc } from '../support/seeds.ts'
import type { Target } from '../support/targets.ts'
import { createClock } from '../support/till.ts'
import { type Action, actions } from './actions.ts'
import { createLibraryRunner } from './library.ts'
import { createModel } from './model.ts'

export interface Modelling {
  readonly target: Target
  readonly seed: number
  /** The number of sequences of operations to run. */
  readonly sequences: number
  /** No sequence begins after this time. */
  readonly milliseconds?: number
}

/**
 * Runs sequences of actions. Throws with the shortest sequence for which
 * the storage differs from the model.
 */
export async function compareWithModel(t: TestContext, modelling: Modelling): Promise<void> {
  const { target, seed, sequences, milliseconds = Number.POSITIVE_INFINITY } = modelling
  const until = Date.now() + milliseconds
  const property = fc.asyncProperty(actions, async (actions) => {
    if (Date.now() > until) return
    await compare(t, target, actions)
  })
  await fc.assert(property, { seed, numRuns: sequences, includeErrorInReport: true })
}

const START = Date.parse('2026-01-01T00:00:00Z')

async function compare(
  t: TestContext,
  { name, open }: Target,
  actions: readonly Action[],
): Promise<void> {
  const clock = createClock(START)
  const till = createTill({ storage: await open(t), now: clock.now })
  try {
    const model = createModel()
    const library = createLibraryRunner(till)
    for (const action of actions) {
      if (action.do === 'wait') clock.pass(action.seconds * 1000)
      const expected = await model(action)
      assert.deepEqual(await library(action), expected, `${name}: ${JSON.stringify(action)}`)
    }
    assert.deepEqual(await till.operations.check(), [], name)
  } finally {
    await till.close()
  }
}
