import { test } from 'node:test'
import { SEEDS } from '../support/seeds.ts'
import { fuzzServer, SERVED } from './run.ts'

for (const served of Object.keys(SERVED) as (keyof typeof SERVED)[]) {
  for (const { seed, name } of SEEDS) {
    test(`whatever is sent is answered as it must be, with ${served}, ${name}`, async (t) => {
      await fuzzServer(t, { served, seed, milliseconds: 3_000 })
    })
  }
}
