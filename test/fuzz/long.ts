// Runs all generated tests in rounds until the time is over. Each round has its own seed.
import { test } from 'node:test'
import { compareWithModel } from '../model/run.ts'
import { allTargets } from '../support/targets.ts'
import { fuzzServer, type Scope } from './run.ts'

const { FUZZ_SECONDS = '300', FUZZ_SEED } = process.env
const first = FUZZ_SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(FUZZ_SEED)
const until = Date.now() + Number(FUZZ_SECONDS) * 1000
if (!Number.isInteger(first) || Number.isNaN(until)) {
  console.error('FUZZ_SEED and FUZZ_SECONDS must be numbers')
  process.exit(2)
}

/** At most 15 s for one part, and no more than the time left. A repeated seed has no limit. */
function bound(): { milliseconds?: number } {
  if (Number(FUZZ_SECONDS) === 0) return {}
  return { milliseconds: Math.min(15_000, until - Date.now()) }
}

const requests = createCounts()
const operations = createCounts()
let sequences = 0

const targets = (await allTargets()).filter(({ skip }) => skip === false)

/** Runs all generated tests once. */
async function playRound(seed: number): Promise<void> {
  for (const target of targets) {
    await scoped((scope) =>
      fuzzServer(scope, { target, seed, requests: 1_500, ...bound(), count: requests.count }),
    )
    await scoped(async (scope) => {
      const { count } = operations
      sequences += await compareWithModel(scope, {
        target,
        seed,
        sequences: 150,
        ...bound(),
        count,
      })
    })
  }
}

async function scoped(work: (scope: Scope) => Promise<void>): Promise<void> {
  const ends: (() => unknown)[] = []
  try {
    await work({ after: (end) => void ends.push(end as () => unknown) })
  } finally {
    for (const end of ends) await end()
  }
}

function createCounts() {
  const counts = new Map<string, Map<string, number>>()
  return {
    count(what: string, outcome: string | number): void {
      const of = counts.get(what) ?? new Map<string, number>()
      counts.set(what, of.set(String(outcome), (of.get(String(outcome)) ?? 0) + 1))
    },
    total: () => [...counts.values()].flatMap((of) => [...of.values()]).reduce((a, b) => a + b, 0),
    lines: () =>
      [...counts].sort().map(([what, of]) => {
        const outcomes = [...of].sort().map(([outcome, n]) => `${outcome} × ${n}`)
        return `  ${what}: ${outcomes.join(', ')}`
      }),
  }
}

function report(rounds: number): void {
  console.log(`${rounds} rounds from seed ${first}`)
  console.log([`${requests.total()} requests`, ...requests.lines()].join('\n'))
  const operationsDone = `${operations.total()} operations in ${sequences} sequences`
  console.log([operationsDone, ...operations.lines()].join('\n'))
}

let seed = first

// Runs as a test, so that the test runner stops the databases.
test('a long run', async () => {
  try {
    do await playRound(seed++)
    while (Date.now() < until)
  } catch (error) {
    console.error(error)
    console.error(`\nTo repeat: FUZZ_SEED=${seed - 1} FUZZ_SECONDS=0 npm run fuzz\n`)
    throw error
  } finally {
    report(seed - first)
  }
})
