import { test } from 'node:test'
import { fuzzServer } from '../support/fuzz/run.ts'
import { SEED } from '../support/seeds.ts'
import { allTargets } from '../support/targets.ts'

for (const target of await allTargets()) {
  test(`generated requests get a correct answer, with ${target.name}`, {
    skip: target.skip,
  }, async (t) => {
    await fuzzServer(t, { target, seed: SEED, requests: target.name === 'memory' ? 500 : 50 })
  })
}
