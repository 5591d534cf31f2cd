/** A JSON object. */
export type JsonObject = { [key: string]: unknown }

/** Whether a value is an object, and no array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses JSON. Returns undefined for malformed text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether two JSON values are equal, regardless of the order of members. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((member, i) => isSameJson(member, b[i]))
  }
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
}

/** Whether every storage can store the string: no lone surrogates, no U+0000. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
}

/** Whether a text has `min` to `max` code points. */
export function isLength(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > 2 * max) return false
  return value.length <= max || [...value].length <= max
}

export const MAX_DEPTH = 32
/** The maximum number of bytes of a free-form object as JSON. */
export const MAX_BYTES = 64 * 1024

/** Finds the first mistake in a free-form object (see `freeForm`). Undefined if there is none. */
export function freeFormProblem(root: JsonObject): string | undefined {
  let visited = 0
  // The limits of depth and number also end the walk of an object with cycles.
  const check = (value: unknown, depth: number): string | undefined => {
    if (++visited > MAX_BYTES) return TOO_LARGE
    if (typeof value !== 'object' || value === null) return scalarProblem(value)
    if (depth > MAX_DEPTH) return `must not nest more than ${MAX_DEPTH} deep`
    if (!isPlain(value)) return 'must hold JSON values only'
    if (!Array.isArray(value) && !Object.keys(value).every(isText)) return MALFORMED_TEXT
    for (const each of Array.isArray(value) ? value : Object.values(value)) {
      const problem = check(each, depth + 1)
      if (problem) return problem
    }
    return undefined
  }
  const problem = check(root, 1)
  if (problem) return problem
  const json = JSON.stringify(root)
  // A code unit takes at most 3 bytes in UTF-8, so a short text is never too large. Counting its
  // bytes would double the time for a small object.
  if (json.length <= MAX_BYTES / 3) return undefined
  return new TextEncoder().encode(json).length > MAX_BYTES ? TOO_LARGE : undefined
}

export const TOO_LARGE = `must not take more than ${MAX_BYTES / 1024} KiB as JSON`
const MALFORMED_TEXT = 'must hold well-formed Unicode text without U+0000'

function scalarProblem(value: unknown): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'string') return isText(value) ? undefined : MALFORMED_TEXT
  if (typeof value !== 'number') return 'must hold JSON values only'
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    return 'must hold finite numbers, integers within ±(2^53−1): send larger ones as strings'
  }
  return undefined
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
