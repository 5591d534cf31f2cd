import { resolve, type Schema } from './endpoints.ts'

/** A name of a kind of values, and whether a value is of this kind. */
type Kind = readonly [name: string, isKind: (value: unknown) => boolean]

const TYPES: { readonly [type: string]: Kind } = {
  string: ['a string', (value) => typeof value === 'string'],
  integer: ['an integer', Number.isSafeInteger],
  boolean: ['a boolean', (value) => typeof value === 'boolean'],
  object: ['an object', isObject],
}

const positive: Kind = [
  'a positive integer',
  (value) => Number.isSafeInteger(value) && Number(value) > 0,
]

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?$/
const dateTime: Kind = [
  'an ISO 8601 date-time',
  (value) => DATE_TIME.test(String(value)) && !Number.isNaN(Date.parse(String(value))),
]

/** A JWT (RFC 7519): three parts if signed, five if encrypted. The first one is a JSON object. */
const jwt: Kind = [
  'a JWT',
  (value) => {
    const parts = typeof value === 'string' ? value.split('.') : []
    const isWritten = parts.every((part) => /^[\w-]*$/.test(part))
    return isWritten && [3, 5].includes(parts.length) && isObject(decodePart(parts[0]))
  },
]

/** Fields for which the specification has another rule than the schemas of tillkit. */
const SPECIFIED: { readonly [field: string]: Kind | undefined } = {
  access_token: jwt,
  token: jwt,
  ttl_seconds: positive,
  expires_in_seconds: positive,
  // The specification has two lists of platforms, and leaves open which one counts.
  platform: TYPES.string,
}

/**
 * Compares the types, the fields and the enumerated values of an answer with a schema. Ignores
 * patterns and lengths, because they are limits of tillkit. Returns the mistakes.
 */
export function mistakesOf(value: unknown, reference: Schema, path = ''): string[] {
  const { type, items, properties = {}, additionalProperties, ...schema } = resolve(reference)
  const place = path || 'the body'
  if (items) {
    if (!Array.isArray(value)) return [`${place} is not an array`]
    return value.flatMap((each, index) => mistakesOf(each, items, `${path}[${index}]`))
  }
  if (type !== 'object' || additionalProperties !== false || !isObject(value)) {
    const [name, isKind] = SPECIFIED[path.split('.').at(-1) ?? ''] ?? kindOf({ type, ...schema })
    return isKind(value) ? [] : [`${place} is not ${name}`]
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

function kindOf(schema: Omit<Schema, 'type'> & { readonly type: string | undefined }): Kind {
  const { enum: values, format, type = typeof schema.const } = schema
  if (values) return [`one of ${values.join(', ')}`, (value) => values.includes(value)]
  if (format === 'date-time') return dateTime
  return TYPES[type] ?? [`of type ${type}`, () => false]
}

/** The JSON value in a part of a JWT. */
export function decodePart(part = ''): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    return undefined
  }
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
