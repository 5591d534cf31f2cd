import { Buffer, isUtf8 } from 'node:buffer'

export type Members = Record<string, unknown>

/** Encodes an object as a segment of a token: JSON as base64url. */
export function encode(members: object): string {
  return Buffer.from(JSON.stringify(members)).toString('base64url')
}

/** Decodes the JSON object in a segment of a token; undefined if it is malformed. */
export function decode(segment: string): Members | undefined {
  const bytes = Buffer.from(segment, 'base64url')
  // Node's decoder ignores invalid characters. Encodes the bytes again to find these.
  if (bytes.toString('base64url') !== segment || !isUtf8(bytes)) return undefined

  try {
    const value: unknown = JSON.parse(bytes.toString())
    // Of several members with the same name, the last counts (RFC 7519 section 4).
    return typeof value === 'object' && value !== null ? (value as Members) : undefined
  } catch {
    return undefined
  }
}
