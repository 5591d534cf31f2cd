import type { LogEntry } from '../http/index.ts'
import { formatValue } from './text.ts'

/** A message of `serve` itself. */
interface LogMessage {
  readonly time: string
  readonly level: 'warn' | 'error'
  readonly message: string
}

export type LogFormat = 'text' | 'json'

/** A line of the log of `serve`, without the line break. */
export function formatLogLine(entry: LogEntry | LogMessage, format: LogFormat): string {
  if (format === 'json') return 'message' in entry ? JSON.stringify(entry) : formatEntry(entry)
  const time = entry.time.slice(11, 19) // UTC, as in JSON
  if ('message' in entry) return `${time}  ${entry.level}: ${formatValue(entry.message)}`
  const { status, method, route, ms, client, error } = entry
  const request = `${status}  ${method.padEnd(4)} ${route ?? '(unknown path)'}`
  const line = `${time}  ${request}  ${ms} ms  ${formatValue(client)}`
  if (error === undefined) return line
  const stack = error.split('\n').map((each) => `  ${formatValue(each)}`)
  return [line, ...stack].join('\n')
}

/**
 * Formats an entry as `JSON.stringify` does. The members that many requests share are formatted
 * once (bench/read).
 */
function formatEntry(entry: LogEntry): string {
  const { time, ms, request_id, error } = entry
  const stack = error === undefined ? '' : `,"error":${JSON.stringify(error)}`
  const answer = answerOf(entry)
  return `{"time":"${time}",${answer},"ms":${ms},"request_id":"${request_id}",${callerOf(entry)}${stack}}`
}

interface Formatted<T> {
  readonly values: T
  readonly text: string
}

type Answer = Pick<LogEntry, 'level' | 'method' | 'route' | 'status'>
type Caller = Pick<LogEntry, 'client' | 'account_id' | 'project_id'>

/** The latest answer of each route. The number of routes is fixed. */
const answers = new Map<string | null, Formatted<Answer>>()

function answerOf({ level, method, route, status }: LogEntry): string {
  const known = answers.get(route)
  const last = known?.values
  if (known && last?.status === status && last.method === method && last.level === level) {
    return known.text
  }
  const values = { level, method, route, status }
  const text = membersOf(values)
  answers.set(route, { values, text })
  return text
}

const MAX_CLIENTS = 1_000
/** The latest caller of each client address. The cache is emptied when full. */
const callers = new Map<string, Formatted<Caller>>()

function callerOf({ client, account_id, project_id }: LogEntry): string {
  const known = callers.get(client)
  const last = known?.values
  if (known && last?.project_id === project_id && last?.account_id === account_id) {
    return known.text
  }
  const values = { client, account_id, project_id } as Caller
  const text = membersOf(values)
  if (callers.size >= MAX_CLIENTS) callers.clear()
  callers.set(client, { values, text })
  return text
}

/** The members of a JSON object, without its braces. */
function membersOf(value: object): string {
  return JSON.stringify(value).slice(1, -1)
}
