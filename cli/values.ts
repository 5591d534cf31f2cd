import { readFileSync } from 'node:fs'
import type { JsonObject } from '../lib/index.ts'
import { UsageError } from './command.ts'

/**
 * Makes an option's value out of its text; `name` is what a UsageError calls it. All are made
 * before anything is opened: a wrong one leaves no new database behind.
 */
export type ValueParser<T> = (text: string, name: string) => T

const LARGEST = 999_999_999

export function wholeNumber(min = 0, max = LARGEST): ValueParser<number> {
  const range = max === LARGEST ? `of ${min} or more` : `from ${min} to ${max}`
  return (text, name) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1
    if (number >= min && number <= max) return number
    throw new UsageError(`${name} must be a whole number ${range}`)
  }
}

export function oneOf<const T extends string>(...values: readonly T[]): ValueParser<T> {
  return (text, name) => {
    const found = values.find((value) => value === text)
    if (found !== undefined) return found
    const others = values.slice(0, -1).join(', ')
    throw new UsageError(`${name} must be ${others} or ${values.at(-1)}`)
  }
}

/** JSON, or `@file` with JSON in it: an object, which the library asserts. */
export const json: ValueParser<JsonObject> = (text, name) => {
  const written = text.startsWith('@') ? readOptionFile(name, text.slice(1)) : text
  try {
    return JSON.parse(written)
  } catch (error) {
    // V8's own message quotes the text, which may hold a secret; only the place is taken from it.
    const place = /at position \d+/.exec((error as Error).message)?.[0]
    throw new UsageError(`${name} is not JSON${place ? `: look ${place}` : ''}`)
  }
}

function readOptionFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${name}: ${(error as Error).message}`)
  }
}

/** `FIELD=COLUMN`. */
export const pair: ValueParser<readonly [string, string]> = (text, name) => {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw new UsageError(`${name} takes FIELD=COLUMN`)
  return [text.slice(0, at), text.slice(at + 1)]
}
