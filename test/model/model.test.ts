// run: early, runtime
import { test } from 'node:test'
import { compareWithMemory, compareWithModel } from '../support/model/run.ts'
import { SEED } from '../support/seeds.ts'
import { soakOnly } from '../support/soak.ts'
import { allTargets } from '../support/targets.ts'

/** More in memory, where they are cheaper. `npm run soak` runs other ones. */
const SEQUENCES: { readonly [storage: string]: number } = { memory: soakOnly ? 25 : 100 }

for (const target of await allTargets()) {
  const { name, skip } = target
  test(`generated operations have the specified outcomes, in ${name}`, { skip }, async () => {
    const sequences = SEQUENCES[name] ?? (soakOnly ? 5 : 20)
    await compareWithModel({ target, seed: SEED, sequences })
  })
  if (name === 'memory') continue
  test(`generated operations have equal outcomes in memory and ${name}`, { skip }, async () => {
    await compareWithMemory({ target, seed: SEED, sequences: soakOnly ? 10 : 100 })
  })
}
