import assert from 'node:assert/strict'
import { TillError } from '../../lib/errors.ts'

/**
 * What a parse function finds wrong, as `field: code`; empty when it accepts its input. An error
 * that names no field is its message.
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
