import { test } from 'node:test'
import { SEEDS } from '../support/seeds.ts'
import { allTargets } from '../support/targets.ts'
import { fuzzServer } from './run.ts'

for (const target of await allTargets()) {
  for (const { seed, name } of SEEDS) {
    const what = `whatever is sent is answered as it must be, with ${target.name}, ${name}`
    test(what, { skip: target.skip }, async (t) => {
      await fuzzServer(t, { target, seed, milliseconds: 2_000 })
    })
  }
}
