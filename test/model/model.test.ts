import { test } from 'node:test'
import { SEED } from '../support/seeds.ts'
import { soakOnly } from '../support/soak.ts'
import { allTargets } from '../support/targets.ts'
import { compareWithModel } from './run.ts'

/** More in memory, where they are cheaper. `npm run soak` runs other ones. */
const SEQUENCES: { readonly [storage: string]: number } = { memory: soakOnly ? 25 : 100 }

for (const target of await allTargets()) {
  test(`generated operations have the specified outcomes, in ${target.name}`, {
    skip: target.skip,
  }, async (t) => {
    await compareWithModel(t, {
      target,
      seed: SEED,
      sequences: SEQUENCES[target.name] ?? (soakOnly ? 5 : 20),
    })
  })
}
