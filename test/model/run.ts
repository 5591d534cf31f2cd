import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createTill } from '../../lib/index.ts'
import { fc } from '../support/seeds.ts'
import type { Target } from '../support/targets.ts'
import { createClock } from '../support/till.ts'
import { type Action, actions } from './actions.ts'
import { createLibraryRunner } from './library.ts'
import { createModel } from './model.ts'

type Scope = Pick<TestContext, 'after'>

export interface Modelling {
  readonly target: Target
  readonly seed: number
  /** The number of sequences of operations to run. */
  readonly sequences: number
  /** No sequence begins after this time. */
  readonly milliseconds?: number
  /** Receives each operation and its outcome: an error code or `done`. */
  readonly count?: (operation: string, outcome: string) => void
}

/**
 * Runs sequences of actions and returns their number. Throws with the shortest sequence for which
 * the storage differs from the model.
 */
export async function compareWithModel(scope: Scope, modelling: Modelling): Promise<number> {
  const { target, seed, sequences, milliseconds = Number.POSITIVE_INFINITY } = modelling
  const { count = () => {} } = modelling
  const until = Date.now() + milliseconds
  let played = 0
  const property = fc.asyncProperty(actions, async (actions) => {
    if (Date.now() > until) return
    await compare(scope, target, actions, count)
    played++
  })
  await fc.assert(property, { seed, numRuns: sequences, includeErrorInReport: true })
  return played
}

const START = Date.parse('2026-01-01T00:00:00Z')

async function compare(
  scope: Scope,
  { name, open }: Target,
  actions: readonly Action[],
  count: NonNullable<Modelling['count']>,
): Promise<void> {
  const clock = createClock(START)
  const till = createTill({ storage: await open(scope), now: clock.now })
  try {
    const model = createModel()
    const library = createLibraryRunner(till)
    for (const action of actions) {
      if (action.do === 'wait') clock.pass(action.seconds * 1000)
      const expected = await model(action)
      count(action.do, 'error' in expected ? expected.error : 'done')
      assert.deepEqual(await library(action), expected, `${name}: ${JSON.stringify(action)}`)
    }
    assert.deepEqual(await till.operations.check(), [], name)
  } finally {
    await till.close()
  }
}
