import { Buffer, isUtf8 } from 'node:buffer'

export type Members = Record<string, unknown>

export function encode(members: object): string {
  return Buffer.from(JSON.stringify(members)).toString('base64url')
}

/**
 * The object in a segment, else undefined: strict where Node's decoder and `JSON.parse` are lax.
 */
export function decode(segment: string): Members | undefined {
  const bytes = Buffer.from(segment, 'base64url')
  // Node skips what is not base64url; only the one canonical spelling comes back the same.
  if (bytes.toString('base64url') !== segment || !isUtf8(bytes)) return undefined

  const text = bytes.toString()
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    // `JSON.parse` drops all but the last member of a name: then the text has strings to spare.
    return countStrings(value) === countQuoted(text) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

/** The strings in a parsed value, names of members included. */
function countStrings(value: unknown): number {
  if (typeof value === 'string') return 1
  if (typeof value !== 'object' || value === null) return 0
  const children = Object.values(value)
  let count = Array.isArray(value) ? 0 : children.length
  for (const child of children) count += countStrings(child)
  return count
}

/** The strings in a text that is known to be JSON. */
function countQuoted(json: string): number {
  if (json.includes('\\')) return json.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
  // Without escapes two quotes are a string. To count them so takes a tenth off a token's reading.
  let quotes = 0
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at + 1)) quotes++
  return quotes / 2
}
