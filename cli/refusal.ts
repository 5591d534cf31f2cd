import { createProblem } from '../http/problems.ts'
import { type ErrorDetail, TillError } from '../lib/index.ts'
import { Interrupted, UsageError } from './command.ts'

/** Why a command was refused, for a person; a field that an option gives has the option's name. */
export function formatRefusal(error: TillError, options: object): string {
  const { details, total, cause } = error
  const lines = details.map((detail) => `${placeOf(detail, options)} ${detail.message}`)
  const [only, ...others] = details
  if (only?.field && others.length === 0) {
    // The same sentence with the option's name in it; not where the message says more.
    return error.message === `${only.field} ${only.message}` ? `${lines[0]}` : error.message
  }
  if (total > details.length) lines.push(`and ${total - details.length} more`)
  if (cause instanceof Error) lines.push(cause.message)
  return [error.message, ...lines].join('\n  ')
}

function placeOf({ line, column, field = '' }: ErrorDetail, options: object): string {
  if (line !== undefined) return column === undefined ? `line ${line}:` : `line ${line}, ${column}`
  const [name, ...within] = optionOf(field)
  if (!Object.hasOwn(options, name)) return field
  return `--${[name, ...within].join(': ')}`
}

/** The fields of the library whose options have names of their own. */
const OPTIONS: { readonly [field: string]: string } = {
  account_id: 'account',
  project_id: 'project',
  store_id: 'store',
  user_id: 'user',
  store_type: 'type',
  store_config: 'config',
  gracePeriod: 'grace',
  priceUnit: 'price-unit',
  scopes: 'scope',
}

/** An option's name, and what of its value is meant: of `config.webhook_url`, both halves. */
export function optionOf(field: string): readonly [name: string, ...within: string[]] {
  const [, name = '', within] = /^(\w+)(?:\[\d+\])?\.?(.*)$/s.exec(field) ?? []
  return [OPTIONS[name] ?? name.replaceAll('_', '-'), ...(within ? [within] : [])]
}

/** The same as a problem document (RFC 9457), without the request that a CLI has not. */
export function problemDocument(error: unknown): object {
  if (error instanceof Interrupted) {
    const code = 'interrupted'
    return { type: `urn:tillkit:error:${code}`, title: 'Interrupted', detail: error.message, code }
  }
  const known =
    error instanceof UsageError ? new TillError('invalid_request', error.message) : error
  const { request_id: _, ...document } = createProblem(known, '').body
  // The log to which a server points its clients is a CLI's own stderr.
  if (known instanceof TillError) return document
  return { ...document, detail: known instanceof Error ? known.message : String(known) }
}
