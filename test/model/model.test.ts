import { test } from 'node:test'
import { SEEDS } from '../support/seeds.ts'
import { allTargets } from '../support/targets.ts'
import { compareWithModel } from './run.ts'

for (const target of await allTargets()) {
  for (const { seed, name } of SEEDS) {
    const what = `the specification, operation by operation, holds in ${target.name}, ${name}`
    test(what, { skip: target.skip }, async (t) => {
      await compareWithModel(t, { target, seed, milliseconds: 3_000 })
    })
  }
}
