// Sends random requests and operations to every storage in rounds, until FUZZ_SECONDS are over. Each
// round has its own seed. FUZZ_SEED sets the first one.
import { type TestContext, test } from 'node:test'
import { fuzzServer } from '../support/fuzz/run.ts'
import { compareWithMemory, compareWithModel } from '../support/model/run.ts'
import { SEED } from '../support/random.ts'
import { soakOnly } from '../support/soak.ts'
import { allTargets, type Target } from '../support/targets.ts'

const seconds = Number(process.env.FUZZ_SECONDS ?? 20)
if (!Number.isInteger(SEED) || Number.isNaN(seconds)) {
  throw new TypeError('FUZZ_SEED and FUZZ_SECONDS must be numbers')
}
const until = Date.now() + seconds * 1000

/** At most 15 s for one part, and no more than the time left. A repeated seed has no limit. */
function bound(): { milliseconds?: number } {
  return seconds === 0 ? {} : { milliseconds: Math.min(15_000, until - Date.now()) }
}

test('random requests and operations get correct answers', { skip: soakOnly }, async (t) => {
  const targets = (await allTargets()).filter(({ skip }) => skip === false)
  for (let seed = SEED; ; seed++) {
    await t.test(`with the seed ${seed}`, (t) => runRound(t, targets, seed))
    if (Date.now() >= until) break
  }
})

async function runRound(t: TestContext, targets: readonly Target[], seed: number): Promise<void> {
  const repeat = `to repeat: FUZZ_SEED=${seed} FUZZ_SECONDS=0 npm run soak -- fuzz`
  for (const target of targets) {
    await t.test(`requests with ${target.name}; ${repeat}`, (t) =>
      fuzzServer(t, { target, seed, requests: 1_500, ...bound() }),
    )
    await t.test(`operations with ${target.name}; ${repeat}`, async () => {
      await compareWithModel({ target, seed, sequences: 100, ...bound() })
      await compareWithMemory({ target, seed, sequences: 100, ...bound() })
    })
  }
}
