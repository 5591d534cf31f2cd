import { test } from 'node:test'
import { SEED } from '../support/seeds.ts'
import { allTargets } from '../support/targets.ts'
import { compareWithModel } from './run.ts'

for (const target of await allTargets()) {
  test(`generated operations end as the specification says, in ${target.name}`, {
    skip: target.skip,
  }, async (t) => {
    await compareWithModel(t, {
      target,
      seed: SEED,
      sequences: target.name === 'memory' ? 100 : 20,
    })
  })
}
