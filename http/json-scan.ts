import { TillError } from '../lib/index.ts'
import type { Limits } from './limits.ts'

/**
 * Counts the values and keys of a JSON text in UTF-8 before it is parsed: 3 bytes (`{},`) become 64
 * in memory. Takes one pass, allocates nothing, and throws 400 when a limit is exceeded. Does not
 * validate: the count of invalid JSON is meaningless, but `JSON.parse` then rejects the text.
 */
export function countJsonValues(
  bytes: Uint8Array,
  limits: Pick<Limits, 'jsonValues' | 'jsonDepth'>,
): number {
  const { jsonValues, jsonDepth } = limits
  let values = 0
  let depth = 0
  let isInScalar = false
  for (let at = 0; at < bytes.length; at++) {
    const kind = KINDS[bytes[at] as number]
    if (kind === SCALAR) {
      if (isInScalar) continue
      isInScalar = true
    } else {
      isInScalar = false
      if (kind === BETWEEN) continue
      if (kind === CLOSING) {
        depth--
        continue
      }
      if (kind === QUOTE) at = endOfString(bytes, at)
      else if (++depth > jsonDepth) throw tooDeep(limits)
    }
    if (++values > jsonValues) {
      const message = `The body may have at most ${jsonValues} values, keys included`
      throw new TillError('invalid_request', message)
    }
  }
  return values
}

/** The error for a body that is nested too deeply. */
export function tooDeep({ jsonDepth }: Pick<Limits, 'jsonDepth'>): TillError {
  return new TillError('invalid_request', `The body may nest at most ${jsonDepth} deep`)
}

/** The index of the closing quote; an index past the end if there is none. */
function endOfString(bytes: Uint8Array, opening: number): number {
  let at = opening + 1
  while (at < bytes.length && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1
  return at
}

/** The kind of a byte in a number, `true`, `false` or `null`, and of all bytes not listed below. */
const SCALAR = 0
const BETWEEN = 1
const QUOTE = 2
const OPENING = 3
const CLOSING = 4

const KINDS = kindsOf([
  [BETWEEN, ' \t\n\r,:'],
  [QUOTE, '"'],
  [OPENING, '{['],
  [CLOSING, '}]'],
])

function kindsOf(rows: readonly (readonly [kind: number, characters: string])[]): Uint8Array {
  const kinds = new Uint8Array(256)
  for (const [kind, characters] of rows) {
    for (const character of characters) kinds[character.charCodeAt(0)] = kind
  }
  return kinds
}
