import { type ErrorDetail, TillError } from '../lib/index.ts'
import type { Command } from './command.ts'
import { CommandFailure, Interrupted, UsageError } from './command-errors.ts'
import type { Io } from './io.ts'
import { optionsOf } from './options.ts'
import { wrapLines } from './output.ts'
import { describeSystemError } from './system-errors.ts'
import { formatJson, formatValue } from './text.ts'

/** The exit codes of the program. */
export const DONE = 0
export const FAILED = 1
const WRONG_USAGE = 2
const INTERRUPTED = 130

/**
 * Prints why a command failed, and returns its exit code. The exit code for wrong usage also covers
 * option values that the library rejects.
 */
export async function reportFailure(
  error: unknown,
  args: readonly string[],
  command: Command | undefined,
  { stdout, stderr }: Io,
): Promise<number> {
  const options = command ? optionsOf(command) : {}
  const isMisuse = error instanceof UsageError || isInvalidOption(error, options)
  const code = isMisuse ? WRONG_USAGE : error instanceof Interrupted ? INTERRUPTED : FAILED
  // Prints no JSON document for a CommandFailure: the command has already printed one.
  const hasPrinted = error instanceof CommandFailure
  if (args.includes('--json') && !hasPrinted) {
    stdout.write(`${formatJson(await problemDocument(error))}\n`)
    if (isExpected(error)) return code
  }
  const stack = (error as Error | undefined)?.stack || String(error)
  const text = isExpected(error) ? formatReason(error, options) : stack
  const reason = text.split('\n').map(formatValue).join('\n')
  if (reason !== '') stderr.write(`${wrapLines(`tillkit: ${reason}`, stderr)}\n`)
  const isKeyLost = error instanceof TillError && error.code === 'master_key_mismatch'
  if (isMisuse) stderr.write(`See ${`tillkit ${command?.name ?? ''}`.trim()} --help\n`)
  else if (isKeyLost) stderr.write('See tillkit secrets drop --help\n')
  return code
}

// The error codes for input that is invalid whatever the storage contains.
const OPTION_CODES = ['required', 'invalid', 'unsupported']

/** Whether all mistakes that the library found are in the command's options. */
function isInvalidOption(error: unknown, options: object): boolean {
  if (!(error instanceof TillError) || error.code !== 'invalid_request') return false
  const isOption = ({ code, field = '' }: ErrorDetail) =>
    OPTION_CODES.includes(code) && Object.hasOwn(options, optionOf(field)[0])
  return error.details.length > 0 && error.details.every(isOption)
}

/**
 * Whether the user can expect the error, so no stack is printed. System errors are expected: a port
 * in use, an unreadable file.
 */
function isExpected(error: unknown): error is Error {
  const ours = [UsageError, CommandFailure, Interrupted, TillError]
  if (ours.some((each) => error instanceof each)) return true
  return typeof (error as NodeJS.ErrnoException | undefined)?.syscall === 'string'
}

/** The message and details of an error. Names the options instead of the library's fields. */
function formatReason(error: Error, options: object): string {
  if (!(error instanceof TillError)) return describeSystemError(error)
  const { details, total, cause } = error
  const lines = details.map((detail) => `${placeOf(detail, options)} ${detail.message}`)
  const [only, ...others] = details
  if (only?.field && only.line === undefined && others.length === 0) {
    const sentence = `${only.field} ${only.message}`
    if (!error.message.endsWith(sentence)) return error.message
    return `${error.message.slice(0, -sentence.length)}${lines[0]}`
  }
  if (total > details.length) lines.push(`and ${total - details.length} more`)
  if (cause instanceof Error) lines.push(describeSystemError(cause))
  return [error.message, ...lines].join('\n  ')
}

function placeOf({ line, column, field = '' }: ErrorDetail, options: object): string {
  if (line !== undefined) return column === undefined ? `line ${line}:` : `line ${line}, ${column}`
  const [name, ...within] = optionOf(field)
  if (field === 'endpoint_id') return 'The endpoint' // an operand, which has no name
  if (!Object.hasOwn(options, name)) return field
  return `--${[name, ...within].join(': ')}`
}

/** The library's fields that differ in name from their options. */
const OPTION_NAMES: { readonly [field: string]: string } = {
  account_id: 'account',
  project_id: 'project',
  store_id: 'store',
  user_id: 'user',
  import_id: 'import',
  store_type: 'type',
  store_config: 'config',
  gracePeriod: 'grace',
  priceUnit: 'price-unit',
  scopes: 'scope',
  'project.name': 'project',
  'project.bundle_id': 'bundle-id',
}

/**
 * Returns the option for a field, and the path within its value: `config` and `currency` for the
 * field `config.currency`.
 */
function optionOf(field: string): readonly [name: string, ...within: string[]] {
  const whole = OPTION_NAMES[field]
  if (whole) return [whole]
  const [, name = '', within] = /^(\w+)(?:\[\d+\])?\.?(.*)$/s.exec(field) ?? []
  return [OPTION_NAMES[name] ?? name.replaceAll('_', '-'), ...(within ? [within] : [])]
}

/** The problem document (RFC 9457) for an error, without a request id. */
async function problemDocument(error: unknown): Promise<object> {
  if (error instanceof Interrupted) {
    const code = 'interrupted'
    return { type: `urn:tillkit:error:${code}`, title: 'Interrupted', detail: error.message, code }
  }
  const known =
    error instanceof UsageError ? new TillError('invalid_request', error.message) : error
  const { createProblem } = await import('../http/index.ts')
  const { request_id: _, ...document } = createProblem(known, '').body
  if (known instanceof TillError) return document
  // A server hides the messages of unexpected errors from its clients. The CLI shows them.
  return { ...document, detail: known instanceof Error ? known.message : String(known) }
}
