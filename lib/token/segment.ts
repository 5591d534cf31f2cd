import { Buffer, isUtf8 } from 'node:buffer'

export type Members = Record<string, unknown>

export function encode(members: object): string {
  return Buffer.from(JSON.stringify(members)).toString('base64url')
}

/** Decodes the JSON object in a segment of a token; undefined if it is malformed. */
export function decode(segment: string): Members | undefined {
  const bytes = Buffer.from(segment, 'base64url')
  // Node's decoder ignores invalid characters. Encodes the bytes again to find these.
  if (bytes.toString('base64url') !== segment || !isUtf8(bytes)) return undefined

  const text = bytes.toString()
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    // Rejects duplicate names. `JSON.parse` keeps only the last of them, so the parsed value has
    // fewer strings than the text.
    return countStrings(value) === countQuoted(text) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

/** The number of strings in a parsed value, including the names of members. */
function countStrings(value: unknown): number {
  if (typeof value === 'string') return 1
  if (typeof value !== 'object' || value === null) return 0
  const children = Object.values(value)
  let count = Array.isArray(value) ? 0 : children.length
  for (const child of children) count += countStrings(child)
  return count
}

/** The number of strings in a valid JSON text, including the names of members. */
function countQuoted(json: string): number {
  if (json.includes('\\')) return json.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
  // Without escapes, two quotes make one string. Counting quotes makes parsing a token 10 % faster.
  let quotes = 0
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at + 1)) quotes++
  return quotes / 2
}
