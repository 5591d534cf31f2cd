// A long run: rounds of all that is fuzzed, each with a seed of its own, until the time is over.
import { fuzzServer, type Scope, SERVED } from './run.ts'

const { FUZZ_SECONDS = '300', FUZZ_SEED } = process.env
const first = FUZZ_SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(FUZZ_SEED)
const until = Date.now() + Number(FUZZ_SECONDS) * 1000
if (!Number.isInteger(first) || Number.isNaN(until)) {
  console.error('FUZZ_SEED and FUZZ_SECONDS must be numbers')
  process.exit(2)
}

const counts = new Map<string, Map<number, number>>()

function count(endpoint: string, status: number): void {
  const of = counts.get(endpoint) ?? new Map<number, number>()
  counts.set(endpoint, of.set(status, (of.get(status) ?? 0) + 1))
}

/** All that is fuzzed, once. */
async function playRound(seed: number): Promise<void> {
  for (const served of Object.keys(SERVED) as (keyof typeof SERVED)[]) {
    await scoped((scope) => fuzzServer(scope, { served, seed, requests: 1_500, count }))
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

function report(rounds: number): void {
  const all = [...counts.values()].flatMap((of) => [...of.values()])
  console.log(`${all.reduce((a, b) => a + b, 0)} requests in ${rounds} rounds from seed ${first}`)
  for (const [endpoint, of] of [...counts].sort()) {
    const statuses = [...of].sort(([a], [b]) => a - b)
    console.log(`  ${endpoint}: ${statuses.map(([status, n]) => `${status} × ${n}`).join(', ')}`)
  }
}

let seed = first
try {
  do await playRound(seed++)
  while (Date.now() < until)
  report(seed - first)
} catch (error) {
  report(seed - first)
  console.error(error)
  console.error(`\nThe same again: FUZZ_SEED=${seed - 1} FUZZ_SECONDS=0 npm run fuzz`)
  process.exitCode = 1
}
