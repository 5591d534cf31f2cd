import type { Endpoint } from './checks.ts'
import { type ClientOptions, createClient } from './client.ts'
import { accessToken } from './endpoints/access-token.ts'
import { itemCreation } from './endpoints/create-item.ts'
import { projectCreation } from './endpoints/create-project.ts'
import { storeCreation } from './endpoints/create-store.ts'
import { purchaseImport } from './endpoints/import-purchases.ts'
import { init } from './endpoints/init.ts'
import { itemList } from './endpoints/list-items.ts'
import { itemReading } from './endpoints/read-item.ts'
import { sessionToken } from './endpoints/session-token.ts'
import { projectUpdate } from './endpoints/update-project.ts'
import { Mismatch, NoAnswer, NotRun } from './outcomes.ts'
import { assertReachable } from './reachable.ts'
import { redact, redactCommand, type Secrets } from './redact.ts'
import type { EndpointNumber } from './routes.ts'
import { createWorld, type Keys, type World } from './world.ts'

export const ENDPOINTS: readonly Endpoint[] = [
  accessToken,
  init,
  sessionToken,
  itemCreation,
  itemList,
  itemReading,
  purchaseImport,
  projectCreation,
  projectUpdate,
  storeCreation,
]

export type Outcome = 'passed' | 'failed' | 'noted' | 'not_run'

/** The result of one check. */
export interface Finding {
  readonly endpoint: number
  readonly title: string
  readonly clause: string
  readonly outcome: Outcome
  readonly expected?: string
  readonly got?: string
  /** The command that repeats the request. Variables stand for secrets. */
  readonly request?: string
  /** Why the check was not run. */
  readonly reason?: string
}

export interface Report {
  readonly url: string
  /** Whether all required checks ran and passed. */
  readonly conforms: boolean
  readonly counts: { readonly [O in Outcome]: number }
  /** The prefix of the names of all records that the run left behind. */
  readonly records: string
  /** Whether the run has restored the name, platform and config of the public key's project. */
  readonly restored: boolean
  readonly checks: readonly Finding[]
}

export interface SuiteOptions extends Keys {
  readonly url: string
  /** The time limit for one request, in milliseconds. */
  readonly timeout: number
  /** The endpoints to check; default all. */
  readonly only?: readonly number[] | undefined
  readonly signal?: AbortSignal
  readonly onProgress?: (endpoint: EndpointNumber, title: string) => void
}

const TOTAL_MS = 300_000
const MAX_REQUESTS = 1_000

/** Checks a server. Throws an Unreachable when the server does not answer, or refuses a key. */
export async function runSuite(options: SuiteOptions): Promise<Report> {
  const { timeout, only, signal, onProgress } = options
  const url = options.url.replace(/\/+$/, '')
  const limits: ClientOptions = { url, timeout, totalTime: TOTAL_MS, maxRequests: MAX_REQUESTS }
  const world = createWorld(createClient({ ...limits, signal }), options)
  const chosen = ENDPOINTS.filter(({ number }) => only?.includes(number) ?? true)
  const checks: Finding[] = []
  let restored = true
  try {
    await assertReachable(world, url)
    for (const endpoint of chosen) {
      checks.push(...(await checkEndpoint(endpoint, world, onProgress)))
    }
  } finally {
    // These requests ignore the abort signal, so that an interrupted run restores the project too.
    restored = await world.restore(createClient({ ...limits, totalTime: timeout }))
  }
  const count = (outcome: Outcome) => checks.filter((each) => each.outcome === outcome).length
  const counts = {
    passed: count('passed'),
    failed: count('failed'),
    noted: count('noted'),
    not_run: count('not_run'),
  }
  const conforms = counts.failed + counts.not_run === 0
  return { url, conforms, counts, records: world.prefix, restored, checks }
}

async function checkEndpoint(
  { number, checks }: Endpoint,
  world: World,
  onProgress: SuiteOptions['onProgress'],
): Promise<Finding[]> {
  const findings: Finding[] = []
  let isSilent = false
  for (const check of checks) {
    onProgress?.(number, check.title)
    const { title, clause, isOpen = false } = check
    const add = (finding: Partial<Finding> & Pick<Finding, 'outcome'>) =>
      findings.push({ endpoint: number, title, clause, ...finding })
    try {
      // Skips the rest of an endpoint's checks after a timeout, because each could take as long.
      if (isSilent) throw new NotRun(`endpoint ${number} does not answer`)
      await check.run(world)
      add({ outcome: 'passed' })
    } catch (error) {
      if (error instanceof NotRun) add({ outcome: 'not_run', reason: error.message })
      else if (error instanceof Mismatch) {
        add({ outcome: isOpen ? 'noted' : 'failed', ...describe(error, world.secrets) })
      } else if (!(error instanceof NoAnswer)) throw error
      else if (error.endpoint === number) {
        isSilent = error.isTimeout
        const { message: got, request } = error
        const lost = new Mismatch('an answer', got, request)
        add({ outcome: 'failed', ...describe(lost, world.secrets) })
      } else {
        const reason = `needs endpoint ${error.endpoint}, which does not answer: ${error.message}`
        add({ outcome: 'not_run', reason })
      }
    }
  }
  return findings
}

function describe({ expected, got, request }: Mismatch, secrets: Secrets): Partial<Finding> {
  return {
    expected: redact(expected, secrets),
    got: excerpt(redact(got, secrets)),
    request: redactCommand(request, secrets),
  }
}

const MAX_GOT = 400

function excerpt(text: string): string {
  return text.length <= MAX_GOT ? text : `${text.slice(0, MAX_GOT)}…`
}
