import { TillError } from '../lib/index.ts'
import type { Exchange } from './exchange.ts'
import type { Metrics } from './metrics.ts'

/** One line of the log. Never contains a key, a token, a body or a user id. */
export interface LogEntry {
  /** The time of the answer; ISO 8601, UTC. */
  readonly time: string
  /** `debug` for answered health checks and scrapes. */
  readonly level: 'debug' | 'info' | 'error'
  /** The method; '' for a request that Node could not parse. */
  readonly method: string
  /** The path of the route, with parameter names; null for an unknown path. */
  readonly route: string | null
  /** The status; 499 if the client disconnected before the answer was sent. */
  readonly status: number
  readonly ms: number
  readonly request_id: string
  /** The client's address. If the request could not be parsed, the address of the connection. */
  readonly client: string
  /** The account; missing when no credential was verified. */
  readonly account_id?: string
  /**
   * The project of the credential. Missing for an account key, which covers all projects of its
   * account.
   */
  readonly project_id?: string
  /**
   * The stack of an internal error and of its causes; only their messages when the storage is
   * unavailable. The client does not get it.
   */
  readonly error?: string
}

export interface LogOptions {
  /**
   * Called once for each request. If missing, nothing is logged. An error that it throws becomes a
   * warning of the process, and never affects a request.
   */
  readonly log?: ((entry: LogEntry) => unknown) | undefined
  /** Logs only status 500 and above. */
  readonly logOnlyErrors?: boolean | undefined
}

/** The facts of a request for the log and the metrics. The method is '' if Node could not parse it. */
type Observed = Pick<Exchange, 'method' | 'route' | 'request_id' | 'client'> &
  Partial<Pick<Exchange, 'account_id' | 'project_id'>>

/** The outcome of a request. Handling it took `ms` milliseconds. */
interface Outcome {
  readonly status: number
  readonly ms: number
  /** The thrown value, if the request failed. */
  readonly failure?: unknown
  /** Whether the thrown value is an internal error. */
  readonly isFault?: boolean
}

/**
 * A function that logs a request and counts it in the metrics. Undefined when both are disabled;
 * requests are then not even timed.
 */
export type Observer = ((request: Observed, outcome: Outcome) => void) | undefined

/** Creates the observer for the log and the metrics that are on. */
export function createObserver({ log, logOnlyErrors }: LogOptions, metrics?: Metrics): Observer {
  if (!log && !metrics) return undefined
  return (request, outcome) => {
    const { method, route, account_id } = request
    const { status, ms, failure } = outcome
    metrics?.observe(method, route?.path ?? null, status, ms / 1000)
    const isImport = route?.kind === 'uploads' && account_id
    if (isImport && failure !== undefined) metrics?.observeFailedImport(status)
    if (log && (status >= 500 || !logOnlyErrors)) writeTo(log, entryOf(request, outcome))
  }
}

/** Whether an error has a cause. Only the log shows causes, never an answer. */
export function hasCause(failure: unknown): boolean {
  return failure instanceof Error && failure.cause !== undefined
}

/** Calls the log function. Reports its errors as warnings of the process. */
function writeTo(log: (entry: LogEntry) => unknown, entry: LogEntry): void {
  const warn = (error: unknown) =>
    process.emitWarning(error instanceof Error ? error : String(error))
  try {
    const writing = log(entry)
    if (writing instanceof Promise) writing.catch(warn)
  } catch (error) {
    warn(error)
  }
}

function entryOf(request: Observed, { status, ms, failure, isFault }: Outcome): LogEntry {
  const { method, request_id, client, account_id, project_id } = request
  const route = request.route?.path ?? null
  // Assigns the optional fields one by one: object spread takes 0.5 µs more (bench/read).
  const entry: { -readonly [F in keyof LogEntry]: LogEntry[F] } = {
    time: formatTime(Date.now()),
    level: isFault ? 'error' : isProbe(route, status) ? 'debug' : 'info',
    method,
    route,
    status,
    ms: Math.round(ms * 10) / 10,
    request_id,
    client,
  }
  if (account_id !== undefined) entry.account_id = account_id
  if (project_id !== undefined) entry.project_id = project_id
  if (isFault) entry.error = describeFault(failure)
  return entry
}

let latest = { at: 0, text: '' }

/** Formats a time as ISO 8601. Requests of the same millisecond share the text. */
function formatTime(at: number): string {
  if (latest.at !== at) latest = { at, text: new Date(at).toISOString() }
  return latest.text
}

function isProbe(route: string | null, status: number): boolean {
  return status < 500 && (route === '/healthz' || route === '/readyz' || route === '/metrics')
}

/** Leaves out the stacks of an expected error and its causes: an outage fails many requests. */
function describeFault(fault: unknown, isExpected = fault instanceof TillError): string {
  if (!(fault instanceof Error)) return String(fault)
  const text = isExpected ? String(fault) : (fault.stack ?? fault.message)
  if (fault.cause === undefined) return text
  return `${text}\ncaused by ${describeFault(fault.cause, isExpected)}`
}
