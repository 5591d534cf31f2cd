import { createHash, randomBytes } from 'node:crypto'

export type IdPrefix = 'acc' | 'prj' | 'str' | 'itm' | 'imp' | 'key'

// Crockford's base 32, as in ULIDs: digits and letters in the order of their codes, none alike.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** An id whose text sorts by time: prefix, 10 characters of Unix milliseconds, 80 random bits. */
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

/** The form in which an account key is kept: 256 random bits need no slow hash. */
export function hashAccountKey(key: string): string {
  return hashText(key)
}

/** SHA-256, base64url. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** A token's `jti`: the bound of revocation under which it is issued, and 128 random bits. */
export function createTokenId(bound: number): string {
  return `${bound}.${randomBytes(16).toString('base64url')}`
}

/** The bound in a token's `jti`; undefined in that of another tool. */
export function boundInTokenId(jti: string): number | undefined {
  const bound = /^(\d{1,15})\.[\w-]{22}$/.exec(jti)?.[1]
  return bound === undefined ? undefined : Number(bound)
}
