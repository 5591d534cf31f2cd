import { readFileSync, statSync } from 'node:fs'
import type { JsonObject } from '../lib/index.ts'
import { UsageError } from './command-errors.ts'
import { describeSystemError } from './system-errors.ts'

/**
 * Parses the text of an option or variable. Throws a UsageError that contains `name`. Runs before a
 * database is opened, because a mistake must not leave a new file behind.
 */
export type ValueParser<T> = (text: string, name: string) => T

const LARGEST = 999_999_999

/** Parses digits. Throws a UsageError for another text, and for a number outside of the range. */
export function wholeNumber(min = 0, max = LARGEST): ValueParser<number> {
  return (text, name) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1
    if (number >= min && number <= max) return number
    throw new UsageError(`${name} must be a whole number from ${min} to ${max}`)
  }
}

/** Parses whole seconds. Returns milliseconds. */
export function milliseconds(min: number, max: number): ValueParser<number> {
  return (text, name) => 1000 * wholeNumber(min, max)(text, name)
}

/** Parses one of the values. Throws a UsageError that names them. */
export function oneOf<const T extends string>(...values: readonly T[]): ValueParser<T> {
  return (text, name) => {
    const found = values.find((value) => value === text)
    if (found !== undefined) return found
    const others = values.slice(0, -1).join(', ')
    throw new UsageError(`${name} must be ${others} or ${values.at(-1)}`)
  }
}

/** Parses the URL of a server, or of an API below a path of a server. */
export const serverUrl: ValueParser<string> = (text, name) => {
  if (URL.canParse(text) && /^https?:/i.test(text)) return text
  throw new UsageError(`${name} must be a URL that begins with http:// or https://`)
}

/** Parses JSON, or the JSON in a file for `@file`. The library checks that it is an object. */
export const json: ValueParser<JsonObject> = (text, name) =>
  parseJson(text.startsWith('@') ? readOptionFile(name, text.slice(1)).toString() : text, name)

/** Reads a file. */
export const fileContent: ValueParser<Uint8Array> = (path, name) => readOptionFile(name, path)

/** Reads a file of JSON. The library checks that it is an object. */
export const jsonFile: ValueParser<JsonObject> = (path, name) => json(`@${path}`, name)

function parseJson(written: string, name: string): JsonObject {
  try {
    return JSON.parse(written.replace(/^\uFEFF/, ''))
  } catch (error) {
    // Shows only the position: the message of V8 quotes the text, which may hold a secret.
    const place = /at position \d+/.exec((error as Error).message)?.[0]
    throw new UsageError(`${name} is not JSON${place ? `: look ${place}` : ''}`)
  }
}

function readOptionFile(name: string, path: string): Buffer {
  try {
    const content = readFileSync(path)
    // If the latest file whose status was read is a pipe, `require` of Node 20 does not follow symbolic
    // links, and finds no driver.
    statSync('.')
    return content
  } catch (error) {
    throw new UsageError(`${name}: ${describeSystemError(error)}`)
  }
}

/** Parses a text like `FIELD=COLUMN` into a pair. */
export function pairOf(form: string): ValueParser<readonly [string, string]> {
  return (text, name) => {
    const at = text.indexOf('=')
    if (at < 1 || at === text.length - 1) throw new UsageError(`${name} takes ${form}`)
    return [text.slice(0, at), text.slice(at + 1)]
  }
}
