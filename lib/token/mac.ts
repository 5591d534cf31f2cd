import { Buffer } from 'node:buffer'
import { hash, timingSafeEqual } from 'node:crypto'

/** In base64url: the 32 bytes of SHA-256. */
export const MAC_LENGTH = 43

/** How much SHA-256 takes at a time. */
const BLOCK = 64

/**
 * HMAC-SHA-256 (RFC 2104 section 2) of texts of up to `maxLength` characters, in base64url. Done by
 * hand since `createHmac` makes two objects a call: 1.9 µs for a token, this 1.1 µs (Node 20 and
 * 26).
 */
export function createMac(secret: Uint8Array, maxLength: number): (text: string) => string {
  const short = secret.byteLength > BLOCK ? hash('sha256', secret, 'buffer') : secret
  const paddedWith = (pad: number, room: number) => {
    const buffer = Buffer.alloc(BLOCK + room)
    buffer.set(short)
    for (let i = 0; i < BLOCK; i++) buffer[i] = (buffer[i] ?? 0) ^ pad
    return buffer
  }
  // In UTF-8 a UTF-16 unit takes three bytes at most.
  const inner = paddedWith(0x36, 3 * maxLength)
  const outer = paddedWith(0x5c, 32)

  return (text) => {
    const length = inner.write(text, BLOCK)
    // As text, a digest comes back in 0.3 µs; as a buffer in 0.9 µs.
    outer.write(hash('sha256', inner.subarray(0, BLOCK + length), 'binary'), BLOCK, 'binary')
    return hash('sha256', outer, 'base64url')
  }
}

const given = Buffer.alloc(MAC_LENGTH)
const wanted = Buffer.alloc(MAC_LENGTH)

/**
 * Compares in constant time the text, not the bytes it stands for: a signature has one spelling.
 */
export function isMac(text: string, mac: string): boolean {
  wanted.write(mac)
  // What finds no room is not written, and a letter of an earlier text would stand there yet.
  return given.write(text) === MAC_LENGTH && timingSafeEqual(given, wanted)
}
