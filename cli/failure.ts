import { type ErrorDetail, TillError } from '../lib/index.ts'
import { type Command, Interrupted, optionsOf, Refusal, UsageError } from './command.ts'
import { wrapLines } from './output.ts'
import { formatRefusal, optionOf, problemDocument } from './refusal.ts'

/** Exit codes. */
export const DONE = 0
export const REFUSED = 1
const WRONG_USAGE = 2
const INTERRUPTED = 130

/**
 * Prints why a command failed; its exit code. Wrong usage is what the command line alone shows to
 * be wrong, whether the CLI has found it or the library.
 */
export function reportFailure(
  error: unknown,
  args: readonly string[],
  command: Command | undefined,
): number {
  const options = command ? optionsOf(command) : {}
  const isMisuse = error instanceof UsageError || isOfValues(error, options)
  const code = isMisuse ? WRONG_USAGE : codeOf(error)
  const isForPerson = error instanceof Refusal // what it found is on stdout already
  if (args.includes('--json') && !isForPerson) {
    process.stdout.write(`${JSON.stringify(problemDocument(error), null, 2)}\n`)
    if (isExpected(error)) return code
  }
  const reason = isExpected(error) ? formatReason(error, options) : stackOf(error)
  if (reason !== '') process.stderr.write(`${wrapLines(`tillkit: ${reason}`, process.stderr)}\n`)
  const help = isMisuse ? [command?.name ?? ''] : helpOf(error)
  for (const name of help) process.stderr.write(`See ${`tillkit ${name}`.trim()} --help\n`)
  return code
}

function codeOf(error: unknown): number {
  return error instanceof Interrupted ? INTERRUPTED : REFUSED
}

/** The command that knows a way out. */
function helpOf(error: unknown): string[] {
  const isKeyLost = error instanceof TillError && error.code === 'master_key_mismatch'
  return isKeyLost ? ['secrets drop'] : []
}

/** A port in use and an unreadable file are expected too. */
function isExpected(error: unknown): error is Error {
  const ours = [UsageError, Refusal, Interrupted, TillError]
  if (ours.some((each) => error instanceof each)) return true
  return typeof (error as NodeJS.ErrnoException | undefined)?.syscall === 'string'
}

function formatReason(error: Error, options: object): string {
  return error instanceof TillError ? formatRefusal(error, options) : error.message
}

function stackOf(error: unknown): string {
  return (error instanceof Error && error.stack) || String(error)
}

// All other codes come from a look at what is stored.
const CODES_OF_VALUES = ['required', 'invalid', 'unsupported']

/** Whether the library refused the values of options, by themselves. */
function isOfValues(error: unknown, options: object): boolean {
  if (!(error instanceof TillError) || error.code !== 'invalid_request') return false
  const isOfOption = ({ code, field = '' }: ErrorDetail) =>
    CODES_OF_VALUES.includes(code) && Object.hasOwn(options, optionOf(field)[0])
  return error.details.length > 0 && error.details.every(isOfOption)
}
