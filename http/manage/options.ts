import { TillError } from '../../lib/index.ts'

/**
 * Creates the error for an invalid option. The library's error would name the option differently.
 */
export function invalidOption(field: string, message: string): TillError {
  const details = [{ field, code: 'invalid', message }]
  return new TillError('invalid_request', `${field} ${message}`, details)
}

/** Reads an optional boolean. */
export function flagOf(input: object, field: string): boolean | undefined {
  const value = (input as { readonly [field: string]: unknown })[field]
  if (value === undefined || typeof value === 'boolean') return value
  throw invalidOption(field, 'must be true or false')
}

/** Reads an optional text. */
export function textOf(input: object, field: string): string | undefined {
  const value = (input as { readonly [field: string]: unknown })[field]
  if (value === undefined || typeof value === 'string') return value
  throw invalidOption(field, 'must be a string')
}
