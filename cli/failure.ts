import { type ErrorDetail, TillError } from '../lib/index.ts'
import { type Command, fieldOf, type OptionSpecs } from './command.ts'
import { CommandFailure, Interrupted, UsageError } from './command-errors.ts'
import type { Io } from './io.ts'
import { optionsOf } from './options.ts'
import { wrapLines } from './output.ts'
import { hint } from './program.ts'
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
  const help = hint(`${command?.name ?? ''} --help`.trim())
  if (isMisuse) stderr.write(`See ${help}\n`)
  else if (isKeyLost) stderr.write(`If the key is lost, see ${hint('secrets drop --help')}\n`)
  return code
}

// The error codes for input that is invalid whatever the storage contains.
const OPTION_CODES = ['required', 'invalid', 'unsupported']

/** Whether all mistakes that the library found are in the command's options. */
function isInvalidOption(error: unknown, options: OptionSpecs): boolean {
  if (!(error instanceof TillError) || error.code !== 'invalid_request') return false
  const isOption = ({ code, field = '' }: ErrorDetail) =>
    OPTION_CODES.includes(code) && optionOf(field, options) !== undefined
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
function formatReason(error: Error, options: OptionSpecs): string {
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

function placeOf({ line, column, field = '' }: ErrorDetail, options: OptionSpecs): string {
  if (line !== undefined) return column === undefined ? `line ${line}:` : `line ${line}, ${column}`
  if (field === 'endpoint_id') return 'The endpoint' // an operand, which has no name
  return optionOf(field, options) ?? field
}

/**
 * Returns the option for a field, with the path within its value: `--config: currency` for the field
 * `config.currency`.
 */
function optionOf(field: string, options: OptionSpecs): string | undefined {
  const [, name = '', within] = /^(\w+)(?:\[\d+\])?\.?(.*)$/s.exec(field) ?? []
  const nameOf = (wanted: string) =>
    Object.entries(options).find(([each, spec]) => fieldOf(each, spec) === wanted)?.[0]
  const whole = nameOf(field)
  if (whole) return `--${whole}`
  const option = nameOf(name) ?? name
  if (!Object.hasOwn(options, option)) return undefined
  return `--${within ? `${option}: ${within}` : option}`
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
