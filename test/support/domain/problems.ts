import assert from 'node:assert/strict'
import { TillError } from '../../../lib/errors.ts'

/**
 * The errors of a parse function as `field: code`, or the message for an error without fields.
 * Empty when the function accepts its input.
 */
export function problemsOf(parse: () => unknown): string[] {
  try {
    parse()
    return []
  } catch (error) {
    if (!(error instanceof TillError)) throw error
    assert.equal(error.code, 'invalid_request')
    if (error.details.length === 0) return [error.message]
    return error.details.map(({ field, code }) => `${field}: ${code}`)
  }
}

/** The start of a value, for messages. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40))
  return Object.prototype.toString.call(value)
}
