import type { LogEntry } from '../../http/index.ts'
import { formatValue } from '../text.ts'

/** A message of `serve` itself. */
interface LogMessage {
  readonly time: string
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
}

type LogFormat = 'text' | 'json'

/** A line of the log of `serve`, without the line break. */
export function formatLogLine(entry: LogEntry | LogMessage, format: LogFormat): string {
  if (format === 'json') return 'message' in entry ? JSON.stringify(entry) : formatEntry(entry)
  const time = entry.time.slice(11, 19) // the time in UTC, as in the JSON format
  if ('message' in entry) return `${time}  ${entry.level}: ${formatValue(entry.message)}`
  const { status, method, route, ms, client, error } = entry
  const request = `${status}  ${method.padEnd(4)} ${route ?? '(unknown path)'}`
  const line = `${time}  ${request}  ${ms} ms  ${formatValue(client)}`
  if (error === undefined) return line
  const stack = error.split('\n').map((each) => `  ${formatValue(each)}`)
  return [line, ...stack].join('\n')
}

/**
 * Formats an entry as `JSON.stringify` does. Formats the parts that many requests share only once,
 * because each part takes 50 ns to append and to copy (bench/read).
 */
function formatEntry(entry: LogEntry): string {
  const { ms, request_id, error } = entry
  const start = startOf(entry.time) + answerOf(entry)
  const line = `${start}${formatMs(ms)},"request_id":"${request_id}${callerOf(entry)}`
  return error === undefined ? line : `${line.slice(0, -1)},"error":${JSON.stringify(error)}}`
}

let latest = { time: '', text: '' }

function startOf(time: string): string {
  if (latest.time !== time) latest = { time, text: `{"time":"${time}",` }
  return latest.text
}

/** The texts of the durations from 0 to 99.9 ms: formatting a number takes 0.1 µs. */
const TENTHS = Array.from({ length: 1_000 }, (_, tenths) => String(tenths / 10))

function formatMs(ms: number): string {
  const tenths = Math.round(ms * 10)
  return (tenths / 10 === ms ? TENTHS[tenths] : undefined) ?? String(ms)
}

interface Formatted<T> {
  readonly values: T
  readonly text: string
}

type Answer = Pick<LogEntry, 'level' | 'method' | 'route' | 'status'>
type Caller = Pick<LogEntry, 'client' | 'account_id' | 'project_id'>

/** Caches the last logged values of each route, as JSON text. The number of routes is fixed. */
const answers = new Map<string | null, Formatted<Answer>>()

/** The JSON of the fields `level` to `status`, and the name of the next field, `ms`. */
function answerOf({ level, method, route, status }: LogEntry): string {
  const known = answers.get(route)
  const last = known?.values
  if (known && last?.status === status && last.method === method && last.level === level) {
    return known.text
  }
  const values = { level, method, route, status }
  const text = `${membersOf(values)},"ms":`
  answers.set(route, { values, text })
  return text
}

const MAX_CLIENTS = 1_000
/** Caches the last formatted caller of each client address. The cache is emptied when full. */
const callers = new Map<string, Formatted<Caller>>()

/** The last part of an entry's JSON: the end of the request id, and the caller's fields. */
function callerOf({ client, account_id, project_id }: LogEntry): string {
  const known = callers.get(client)
  const last = known?.values
  if (known && last?.project_id === project_id && last?.account_id === account_id) {
    return known.text
  }
  const values = { client, account_id, project_id } as Caller
  const text = `",${membersOf(values)}}`
  if (callers.size >= MAX_CLIENTS) callers.clear()
  callers.set(client, { values, text })
  return text
}

/** The members of a JSON object, without its braces. */
function membersOf(value: object): string {
  return JSON.stringify(value).slice(1, -1)
}
