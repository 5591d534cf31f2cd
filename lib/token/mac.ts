import { Buffer } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'

/** The number of characters of an HMAC-SHA-256: 32 bytes in base64url. */
export const MAC_LENGTH = 43

const given = Buffer.alloc(MAC_LENGTH)
const wanted = Buffer.alloc(MAC_LENGTH)

/**
 * Compares MACs as base64url texts in constant time. Does not decode them, because several texts
 * can give the same bytes.
 */
export function isMac(text: string, mac: string): boolean {
  wanted.write(mac)
  // Checks the length, because a shorter text leaves bytes of an earlier text in `given`.
  return given.write(text) === MAC_LENGTH && timingSafeEqual(given, wanted)
}
