import type { Metrics } from './metrics.ts'

/** One line of the log. Never contains a key, a token, a body or a user id. */
export interface LogEntry {
  /** ISO 8601, UTC. */
  readonly time: string
  readonly level: 'info' | 'error'
  /** '' for a request that Node could not parse. */
  readonly method: string
  /** The path of the route, with parameter names; null for an unknown path. */
  readonly route: string | null
  /** 499 when the client hung up before the answer. */
  readonly status: number
  readonly ms: number
  readonly request_id: string
  /** The address of the client. For a request that could not be parsed: of the connection. */
  readonly client: string
  /** Missing when no credential was verified. */
  readonly account_id?: string
  /** Missing for an account key too, which is for all projects of the account. */
  readonly project_id?: string
  /** The stack of an error that the client was not told, with the stacks of its causes. */
  readonly error?: string
}

export interface LogOptions {
  /** Called once for each request. Without it nothing is logged. */
  readonly log?: ((entry: LogEntry) => void) | undefined
  /** Logs only status 500 and above. */
  readonly logOnlyErrors?: boolean | undefined
}

/** The result of a request, for the log and the metrics. */
export interface Outcome
  extends Pick<LogEntry, 'method' | 'route' | 'status' | 'ms' | 'request_id' | 'client'> {
  readonly account_id?: string | undefined
  readonly project_id?: string | undefined
  /** The thrown value, when it is a fault of the server. */
  readonly fault?: unknown
}

/** Writes the log and the metrics; undefined without both, so requests are not timed. */
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
