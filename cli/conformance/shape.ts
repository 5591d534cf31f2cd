/** Checks a value. Returns its mistakes; `path` is the place of the value in the answer. */
export type Shape = (value: unknown, path: string) => string[]

function kind(name: string, isKind: (value: unknown) => boolean): Shape {
  return (value, path) => (isKind(value) ? [] : [`${path} is not ${name}`])
}

export const text = kind('a string', (value) => typeof value === 'string')
export const integer = kind('an integer', Number.isSafeInteger)
export const seconds = kind(
  'a positive integer',
  (value) => Number.isSafeInteger(value) && Number(value) > 0,
)
export const boolean = kind('a boolean', (value) => typeof value === 'boolean')
export const object = kind('an object', isObject)

export function oneOf(...values: readonly string[]): Shape {
  return kind(`one of ${values.join(', ')}`, (value) => values.includes(value as string))
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?$/
export const dateTime = kind(
  'an ISO 8601 date-time',
  (value) => typeof value === 'string' && DATE_TIME.test(value) && !Number.isNaN(Date.parse(value)),
)

/**
 * A JWT (RFC 7519). A signed one has three parts, an encrypted one has five. The first part is a
 * JSON object.
 */
export const jwt = kind('a JWT', (value) => {
  const parts = typeof value === 'string' ? value.split('.') : []
  const isWritten = parts.every((part) => /^[\w-]*$/.test(part))
  return isWritten && [3, 5].includes(parts.length) && isObject(decodePart(parts[0]))
})

/** The JSON value in a part of a JWT. */
export function decodePart(part = ''): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    return undefined
  }
}

/** An object with exactly these fields. */
export function record(fields: { readonly [name: string]: Shape }): Shape {
  return (value, path) => {
    if (!isObject(value)) return [`${path} is not an object`]
    const under = (name: string) => (path === 'the body' ? name : `${path}.${name}`)
    const extra = Object.keys(value).filter((name) => !Object.hasOwn(fields, name))
    return [
      ...Object.entries(fields).flatMap(([name, shape]) =>
        Object.hasOwn(value, name)
          ? shape(value[name], under(name))
          : [`${under(name)} is missing`],
      ),
      ...extra.map((name) => `${under(name)} is not specified`),
    ]
  }
}

/** An array with entries of one shape. */
export function list(entry: Shape): Shape {
  return (value, path) =>
    Array.isArray(value)
      ? value.flatMap((each, index) => entry(each, `${path}[${index}]`))
      : [`${path} is not an array`]
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
