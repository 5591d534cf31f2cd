import { test } from 'node:test'
import { SEEDS } from '../support/seeds.ts'
import { candidates, compareWithModel } from './run.ts'

for (const { seed, name } of SEEDS) {
  test(`every storage does what the specification says, ${name}`, async (t) => {
    await compareWithModel({ candidates: await candidates(t), seed, milliseconds: 6_000 })
  })
}
