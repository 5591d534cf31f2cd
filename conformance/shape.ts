import { resolve, type Schema } from './endpoints.ts'

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?$/

/** The kinds of values in an answer, and whether a value is of the kind. */
const KINDS = {
  'a string': (value: unknown) => typeof value === 'string',
  'an integer': Number.isSafeInteger,
  'a positive integer': (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0,
  'a boolean': (value: unknown) => typeof value === 'boolean',
  'an object': isObject,
  'an ISO 8601 date-time': (value: unknown) =>
    DATE_TIME.test(String(value)) && !Number.isNaN(Date.parse(String(value))),
  /** RFC 7519: three parts if signed, five if encrypted. The first one is a JSON object. */
  'a JWT': (value: unknown) => {
    const parts = typeof value === 'string' ? value.split('.') : []
    const isWritten = parts.every((part) => /^[\w-]*$/.test(part))
    return isWritten && [3, 5].includes(parts.length) && isObject(decodePart(parts[0]))
  },
}
type Kind = keyof typeof KINDS

const TYPES: { readonly [type: string]: Kind } = {
  string: 'a string',
  integer: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
}

/** Fields for which the specification has another rule than the schemas of tillkit. */
const SPECIFIED: { readonly [field: string]: Kind } = {
  access_token: 'a JWT',
  token: 'a JWT',
  ttl_seconds: 'a positive integer',
  expires_in_seconds: 'a positive integer',
  // The specification has two lists of platforms, and leaves open which one counts.
  platform: 'a string',
}

/**
 * Compares the types, the fields and the enumerated values of an answer with a schema. Ignores
 * patterns and lengths, because they are limits of tillkit. Returns the mistakes.
 */
export function mistakesOf(value: unknown, reference: Schema, path = ''): string[] {
  const schema = resolve(reference)
  const { type = typeof schema.const, items, properties = {}, enum: listed } = schema
  const place = path || 'the body'
  if (items) {
    if (!Array.isArray(value)) return [`${place} is not an array`]
    return value.flatMap((each, index) => mistakesOf(each, items, `${path}[${index}]`))
  }
  if (type !== 'object' || schema.additionalProperties !== false || !isObject(value)) {
    const specified = SPECIFIED[path.split('.').at(-1) ?? '']
    if (listed && !specified) {
      return listed.includes(value) ? [] : [`${place} is not one of ${listed.join(', ')}`]
    }
    const typed = schema.format === 'date-time' ? 'an ISO 8601 date-time' : TYPES[type]
    const kind = specified ?? typed
    return kind && KINDS[kind](value) ? [] : [`${place} is not ${kind ?? `of type ${type}`}`]
  }
  const under = (name: string) => (path === '' ? name : `${path}.${name}`)
  const extra = Object.keys(value).filter((name) => !Object.hasOwn(properties, name))
  return [
    ...Object.entries(properties).flatMap(([name, each]) =>
      Object.hasOwn(value, name)
        ? mistakesOf(value[name], each, under(name))
        : [`${under(name)} is missing`],
    ),
    ...extra.map((name) => `${under(name)} is not specified`),
  ]
}

/** The JSON value of a text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The JSON value in a part of a JWT. */
export function decodePart(part = ''): unknown {
  return parseJson(Buffer.from(part, 'base64url').toString())
}

export type Fields = { readonly [name: string]: unknown }

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a path of field names; undefined if there is none. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), value)
}

/** Whether `found` equals `sent`, except that objects in `found` may have more keys. */
export function holds(found: unknown, sent: unknown): boolean {
  if (Array.isArray(sent)) {
    const isSameLength = Array.isArray(found) && found.length === sent.length
    return isSameLength && sent.every((each, index) => holds(found[index], each))
  }
  if (!isObject(sent)) return found === sent
  return isObject(found) && Object.entries(sent).every(([name, value]) => holds(found[name], value))
}
