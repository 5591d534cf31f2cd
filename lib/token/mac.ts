import { Buffer } from 'node:buffer'
import { hash, timingSafeEqual } from 'node:crypto'

/** The number of characters of a MAC: 32 bytes in base64url. */
export const MAC_LENGTH = 43

/** The block size of SHA-256 in bytes. */
const BLOCK = 64

/**
 * Creates a function for HMAC-SHA-256 (RFC 2104 section 2) in base64url, for texts of up to
 * `maxLength` characters. It takes 1.1 µs for a token. `createHmac` takes 1.9 µs, because it
 * creates two objects for each call.
 */
export function createMac(secret: Uint8Array, maxLength: number): (text: string) => string {
  const short = secret.byteLength > BLOCK ? hash('sha256', secret, 'buffer') : secret
  const paddedWith = (pad: number, room: number) => {
    const buffer = Buffer.alloc(BLOCK + room)
    buffer.set(short)
    for (let i = 0; i < BLOCK; i++) buffer[i] = (buffer[i] ?? 0) ^ pad
    return buffer
  }
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  const inner = paddedWith(0x36, 3 * maxLength)
  const outer = paddedWith(0x5c, 32)

  return (text) => {
    const length = inner.write(text, BLOCK)
    // Gets the inner hash as a string: Node takes 0.3 µs for a string, and 0.9 µs for a buffer.
    outer.write(hash('sha256', inner.subarray(0, BLOCK + length), 'binary'), BLOCK, 'binary')
    return hash('sha256', outer, 'base64url')
  }
}

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
