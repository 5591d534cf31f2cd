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

/** Formats an entry as `JSON.stringify` does, three times as fast (bench/read). */
function formatEntry(entry: LogEntry): string {
  const { time, level, method, route, status, ms, request_id, client } = entry
  const { account_id, project_id, error } = entry
  const result =
    `{"time":"${time}","level":"${level}","method":"${method}","route":${quote(route)}` +
    `,"status":${status},"ms":${ms},"request_id":"${request_id}","client":${quote(client)}`
  const account = account_id === undefined ? '' : `,"account_id":${quote(account_id)}`
  const project = project_id === undefined ? '' : `,"project_id":${quote(project_id)}`
  const stack = error === undefined ? '' : `,"error":${quote(error)}`
  return `${result}${account}${project}${stack}}`
}

/** A JSON string, or `null`. */
function quote(value: string | null): string {
  return value !== null && PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)
}

/** ASCII without `"`, `\\` and control characters. */
const PLAIN = /^[ !#-[\]-~]*$/
