import { test } from 'node:test'
import { SEED } from '../support/seeds.ts'
import { soakOnly } from '../support/soak.ts'
import { allTargets } from '../support/targets.ts'
import { compareWithMemory } from './run.ts'

/** `npm run soak` runs more. The drivers of SQLite share their SQL with the memory. */
const SEQUENCES = soakOnly ? { PostgreSQL: 40, others: 5 } : { PostgreSQL: 200, others: 50 }

for (const target of await allTargets()) {
  if (target.name === 'memory') continue
  test(`generated calls have the same outcomes in memory and in ${target.name}`, {
    skip: target.skip,
  }, async (t) => {
    const sequences = SEQUENCES[target.name === 'PostgreSQL' ? 'PostgreSQL' : 'others']
    await compareWithMemory(t, { target, seed: SEED, sequences })
  })
}
