import type { Metrics } from './metrics.ts'

/** One line of the log. Never holds a key, a token, a body or the id of a user. */
export interface LogEntry {
  /** ISO 8601, UTC. */
  readonly time: string
  readonly level: 'info' | 'error'
  /** '' for bytes that were refused before they were a request. */
  readonly method: string
  /** The route's path with its parameters' names; null for a path that no route has. */
  readonly route: string | null
  /** 499 when the client hung up before its answer. */
  readonly status: number
  readonly ms: number
  readonly request_id: string
  /** The address of the client; of the connection for bytes that were no request. */
  readonly client: string
  /** Left out until the credential is verified, and for routes that ask for none. */
  readonly account_id?: string
  /** Left out, too, for an account key: it is for all projects of the account. */
  readonly project_id?: string
  /** What went wrong, when the caller was not told: stacks, those of causes too. */
  readonly error?: string
}

export interface LogOptions {
  /** Takes a line for each request; without it nothing is logged. */
  readonly log?: ((entry: LogEntry) => void) | undefined
  /** Only the lines of status 500 and above. */
  readonly logOnlyErrors?: boolean | undefined
}

/** What became of a request, for those who keep account of it. */
export interface Outcome {
  readonly method: string
  readonly route: string | null
  readonly status: number
  readonly ms: number
  readonly request_id: string
  readonly client: string
  readonly account_id?: string | undefined
  readonly project_id?: string | undefined
  /** What was thrown, when it is a fault of ours. */
  readonly fault?: unknown
}

/** Whoever keeps account of requests; undefined when nobody does, and no time need be taken. */
export type Recorder = ((outcome: Outcome) => void) | undefined

export function createRecorder({ log, logOnlyErrors }: LogOptions, metrics?: Metrics): Recorder {
  if (!log && !metrics) return undefined
  return (outcome) => {
    const { method, route, status, ms } = outcome
    metrics?.observe(method, route, status, ms / 1000)
    if (log && (status >= 500 || !logOnlyErrors)) log(entryOf(outcome))
  }
}

function entryOf({ fault, ...outcome }: Outcome): LogEntry {
  const { method, route, status, ms, request_id, client, account_id, project_id } = outcome
  return {
    time: new Date().toISOString(),
    level: fault === undefined ? 'info' : 'error',
    method,
    route,
    status,
    ms: Math.round(ms * 10) / 10,
    request_id,
    client,
    ...(account_id === undefined ? {} : { account_id }),
    ...(project_id === undefined ? {} : { project_id }),
    ...(fault === undefined ? {} : { error: stackOf(fault) }),
  }
}

function stackOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  const stack = fault.stack ?? fault.message
  return fault.cause === undefined ? stack : `${stack}\ncaused by ${stackOf(fault.cause)}`
}
