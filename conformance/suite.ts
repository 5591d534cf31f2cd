import { type Answer, createClient, cut, Mismatch, NotRun } from './client.ts'
import { type Row, runRow } from './rows.ts'
import { conformanceRows } from './table.ts'
import { createWorld, type Keys, type World } from './world.ts'

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
  readonly onProgress?: (endpoint: number, title: string) => void
}

const TOTAL_MS = 300_000

/** Checks a server. Throws an Unreachable when the server does not answer, or refuses a key. */
export async function runSuite(options: SuiteOptions): Promise<Report> {
  const { timeout, only, signal, onProgress } = options
  const url = options.url.replace(/\/+$/, '')
  const world = createWorld(createClient({ url, timeout, totalTime: TOTAL_MS, signal }), options)
  const rows = conformanceRows().filter(({ endpoint }) => only?.includes(endpoint) ?? true)
  const checks: Finding[] = []
  let restored = true
  try {
    await assertReachable(world, url)
    /** The endpoints that do not answer. Each of their checks could take as long as the first. */
    const silent = new Set<number>()
    for (const row of rows) {
      onProgress?.(row.endpoint, row.title)
      checks.push(await check(row, world, silent))
    }
  } finally {
    // These requests ignore the abort signal, so that an interrupted run restores the project too.
    restored = await world.restore(createClient({ url, timeout, totalTime: timeout }))
  }
  const counts = countOutcomes(checks)
  const conforms = counts.failed + counts.not_run === 0
  return { url, conforms, counts, records: world.prefix, restored, checks }
}

export function countOutcomes(findings: readonly Finding[]): Report['counts'] {
  const counts = { passed: 0, failed: 0, noted: 0, not_run: 0 }
  for (const { outcome } of findings) counts[outcome]++
  return counts
}

async function check(row: Row, world: World, silent: Set<number>): Promise<Finding> {
  const { endpoint, title, clause, isOpen } = row
  const finding = { endpoint, title, clause }
  try {
    if (silent.has(endpoint)) throw new NotRun(`endpoint ${endpoint} does not answer`)
    await runRow(row, world)
    return { ...finding, outcome: 'passed' }
  } catch (error) {
    if (error instanceof NotRun) return { ...finding, outcome: 'not_run', reason: error.message }
    if (!(error instanceof Mismatch)) throw error
    const { noAnswer, got } = error
    if (noAnswer && noAnswer.endpoint !== endpoint) {
      const reason = `needs endpoint ${noAnswer.endpoint}, which does not answer: ${got}`
      return { ...finding, outcome: 'not_run', reason }
    }
    if (noAnswer?.isTimeout) silent.add(endpoint)
    const outcome = isOpen && !noAnswer ? 'noted' : 'failed'
    return { ...finding, outcome, ...redact(error, world.secrets) }
  }
}

const JWT = /\beyJ[\w-]+(\.[\w-]*){2,4}/g
const MAX_GOT = 400

/** Replaces secrets by shell variables. Single quotes enclose each secret in a command. */
function redact({ expected, got, request }: Mismatch, secrets: World['secrets']) {
  const replace = (text: string, shown = (name: string) => name) => {
    let redacted = text.replace(JWT, '$TOKEN')
    for (const [secret, name] of secrets) redacted = redacted.replaceAll(secret, () => shown(name))
    return redacted
  }
  return {
    expected: replace(expected),
    got: cut(replace(got), MAX_GOT),
    request: replace(request, (name) => `'"${name}"'`),
  }
}

/** No check can run: the server does not answer, or refuses the public key or the account key. */
export class Unreachable extends Error {}

/**
 * Sends three requests with the public key and three with the account key. Throws an Unreachable if
 * the server does not answer, or if it refuses all three requests with one of the keys.
 */
async function assertReachable({ call, newSession, session }: World, url: string): Promise<void> {
  const sessions = await statusesOf([call(1), session(), call(3, { json: newSession() })])
  const statuses = sessions.filter((each) => typeof each === 'number')
  if (statuses.length === 0) throw new Unreachable(`${url} does not answer: ${sessions[0]}`)
  if (!statuses.some((status) => status <= 299)) {
    throw new Unreachable(
      `${url} opens no session: endpoints 1 to 3 answer ${statuses.join(', ')}. ` +
        'Check --public-key, and that --url is the part before /api/v1',
    )
  }
  // Empty requests create nothing: with a valid key, the server refuses them with 400.
  const creations = await statusesOf([4, 8, 10].map((number) => call(number, { json: {} })))
  if (creations.every((status) => status === 401)) {
    throw new Unreachable(
      `${url} refuses the account key: endpoints 4, 8 and 10 answer 401. Check --account-key`,
    )
  }
}

/** The status of each answer; where there is none, the reason. */
function statusesOf(requests: readonly Promise<Answer>[]): Promise<(number | string)[]> {
  const reasonOf = (error: unknown) => {
    if (error instanceof Mismatch) return error.got
    throw error
  }
  return Promise.all(requests.map((request) => request.then(({ status }) => status, reasonOf)))
}
