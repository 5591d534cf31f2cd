import { createHash, randomBytes } from 'node:crypto'
import type { TokenIssuer } from '../domain/session.ts'

export type IdPrefix = 'acc' | 'prj' | 'str' | 'itm' | 'imp' | 'rec' | 'key'

// Crockford's base 32, as in ULIDs: in order of character codes, without look-alikes.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** An id that sorts by time: prefix, 10 characters of Unix milliseconds, 80 random bits. */
export function createId(prefix: IdPrefix, now: number): string {
  let id = ''
  for (let rest = now, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) {
    id = ALPHABET[rest % 32] + id
  }
  for (const byte of randomBytes(16)) id += ALPHABET[byte & 31]
  return `${prefix}_${id}`
}

export function createAccountKey(): string {
  return `ak_${randomBytes(32).toString('base64url')}`
}

export function createPublicKey(): string {
  return `pk_${randomBytes(24).toString('base64url')}`
}

/** The hash that is stored of an account key. 256 random bits need no slow hash. */
export function hashAccountKey(key: string): string {
  return hashText(key)
}

/** SHA-256, base64url. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/**
 * A token's `jti`: the revocation watermark at the time of issue, `a` for a token that the account
 * issues, and 128 random bits.
 */
export function createTokenId(watermark: number, issued_by: TokenIssuer): string {
  const mark = issued_by === 'account' ? 'a' : ''
  return `${watermark}${mark}.${randomBytes(16).toString('base64url')}`
}

/** The revocation watermark in a `jti`; undefined for a token of another tool. */
export function watermarkInTokenId(jti: string): number | undefined {
  const watermark = /^(\d{1,15})a?\.[\w-]{22}$/.exec(jti)?.[1]
  return watermark === undefined ? undefined : Number(watermark)
}

/** The issuer in a `jti`. A token of another tool counts as issued with a public key. */
export function issuerInTokenId(jti: string): TokenIssuer {
  return /^\d{1,15}a\.[\w-]{22}$/.test(jti) ? 'account' : 'public_key'
}
