import assert from 'node:assert/strict'
import { join } from 'node:path'
import fc from 'fast-check'
import {
  createMemoryStorage,
  createTill,
  openSqliteStorage,
  type Storage,
} from '../../lib/index.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createClock } from '../support/till.ts'
import { type Action, actions } from './actions.ts'
import { playLibrary } from './library.ts'
import { createModel } from './model.ts'

export type Scope = Parameters<typeof temporaryFolder>[0]

/** A storage to compare, empty at each call and closed by the caller. */
export interface Candidate {
  readonly name: string
  readonly open: () => Promise<Storage>
}

/** All storages that there are here: one more is one more entry. */
export async function candidates(scope: Scope): Promise<Candidate[]> {
  const folder = temporaryFolder(scope)
  let files = 0
  const drivers = (await sqliteDrivers()).filter(({ skip }) => skip === false)
  return [
    { name: 'memory', open: async () => createMemoryStorage() },
    ...drivers.map(({ driver }) => ({
      name: driver,
      open: () => openSqliteStorage(join(folder, `${files++}.db`), { driver }),
    })),
  ]
}

/** How many sequences a seed makes. */
export const SEQUENCES = 150

export interface Modelling {
  readonly candidates: readonly Candidate[]
  readonly seed: number
  /** After which no further sequence begins. */
  readonly milliseconds?: number
  /** Told of every operation, and of the code of one that is refused. */
  readonly count?: (operation: string, outcome: string) => void
}

/** Plays sequences of actions; throws with the shortest one in which a storage differs from the model. */
export async function compareWithModel(modelling: Modelling): Promise<void> {
  const { candidates, seed, milliseconds, count = () => {} } = modelling
  const property = fc.asyncProperty(actions, async (actions) => {
    for (const candidate of candidates) await compare(candidate, actions, count)
  })
  await fc.assert(property, {
    seed,
    numRuns: SEQUENCES,
    ...(milliseconds === undefined ? {} : { interruptAfterTimeLimit: milliseconds }),
    includeErrorInReport: true,
  })
}

const START = Date.parse('2026-01-01T00:00:00Z')

async function compare(
  { name, open }: Candidate,
  actions: readonly Action[],
  count: NonNullable<Modelling['count']>,
): Promise<void> {
  const clock = createClock(START)
  const till = createTill({ storage: await open(), now: clock.now })
  try {
    const model = createModel()
    const library = playLibrary(till)
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
