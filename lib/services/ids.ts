import { hash, randomBytes, randomFillSync } from 'node:crypto'

type IdPrefix = 'acc' | 'prj' | 'str' | 'itm' | 'imp' | 'rec' | 'key'

// Crockford's base 32, as in ULIDs: sorted by character code, and without similar characters.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Creates an id that sorts by time: prefix, 10 characters of Unix milliseconds, 80 random bits. */
export function createId(prefix: IdPrefix, now: number): string {
  let id = ''
  for (let rest = now, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) {
    id = ALPHABET[rest % 32] + id
  }
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  for (const end = used + ID_BYTES; used < end; used++) id += ALPHABET[(pool[used] ?? 0) & 31]
  return `${prefix}_${id}`
}

const ID_BYTES = 16
// Random bytes for 256 ids. Generating 4 KiB takes as long as generating 16 bytes.
const pool = Buffer.allocUnsafeSlow(256 * ID_BYTES)
let used = pool.length

/** Creates a secret of 256 random bits. */
export function createAccountKey(): string {
  return `ak_${randomBytes(32).toString('base64url')}`
}

/** Creates a key of 192 random bits. It is no secret. */
export function createPublicKey(): string {
  return `pk_${randomBytes(24).toString('base64url')}`
}

/** Hashes a text: SHA-256 as base64url. For an account key it is enough: a key has 256 random bits. */
export function hashText(text: string): string {
  return hash('sha256', text, 'base64url')
}
