import { test } from 'node:test'
import { fuzzServer, SERVED } from './run.ts'

// One seed that is always the same, and one that is new: a failure prints it.
const SEEDS = [20_240_229, Math.floor(Math.random() * 2 ** 31)]

for (const served of Object.keys(SERVED) as (keyof typeof SERVED)[]) {
  for (const [index, seed] of SEEDS.entries()) {
    const name = index === 0 ? 'the same requests' : 'other requests each time'
    test(`whatever is sent is answered as it must be, with ${served}: ${name}`, async (t) => {
      await fuzzServer(t, { served, seed, requests: 1_500 })
    })
  }
}
