import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TillError } from '../../lib/errors.ts'

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

/** Values by field, or by the path of a nested one: `config.currency`. */
interface Values {
  readonly [path: string]: readonly unknown[]
}

/**
 * Tests that `parse` accepts `input` with each good value, and that it names the field of each bad
 * one. The value `undefined` stands for a missing field.
 */
export function testFields(
  parse: (input: object) => unknown,
  input: object,
  { good, bad }: { readonly good: Values; readonly bad: Values },
): void {
  for (const [path, values] of Object.entries(good)) {
    test(`accepts good values of ${path}`, () => {
      for (const value of values) {
        const found = problemsOf(() => parse(withValue(input, path, value)))
        assert.deepEqual(found, [], shown(value))
      }
    })
  }
  for (const [path, values] of Object.entries(bad)) {
    test(`refuses bad values of ${path}`, () => {
      for (const value of values) {
        const found = problemsOf(() => parse(withValue(input, path, value)))
        const code = value === undefined ? 'required' : 'invalid'
        assert.deepEqual(found, [`${path}: ${code}`], shown(value))
      }
    })
  }
}

function withValue(input: object, path: string, value: unknown): object {
  const [field = '', key] = path.split('.')
  return { ...input, [field]: key === undefined ? value : { [key]: value } }
}

/** The start of a value, for messages. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40))
  return Object.prototype.toString.call(value)
}
