import {
  areClaims,
  areValid,
  type Claims,
  pickClaims,
  readClaims,
  type VerifiedClaims,
} from './claims.ts'
import {
  findKey,
  MAX_HEADER_LENGTH,
  MAX_LENGTH,
  type PreparedKey,
  prepare,
  recall,
  remember,
  type SigningKey,
} from './key.ts'
import { isMac, MAC_LENGTH } from './mac.ts'
import { decode, encode, type Members } from './segment.ts'

/**
 * Signs claims as a JWT (RFC 7519) with HS256. Throws a TypeError for a key or claims that
 * `verifyToken` would reject.
 */
export function signToken(claims: Claims, key: SigningKey): string {
  if (!areClaims(claims)) {
    throw new TypeError('expected non-empty well-formed strings, iat and exp in whole Unix seconds')
  }

  const { header, mac } = prepare(key)
  const input = `${header}.${encode(pickClaims(claims))}`
  if (input.length + 1 + MAC_LENGTH > MAX_LENGTH) {
    throw new TypeError(`expected claims that fit in ${MAX_LENGTH} characters`)
  }
  return `${input}.${mac(input)}`
}

/**
 * Verifies a token, and returns its claims. Returns undefined for every failure: an attacker must
 * not learn the reason. `expected.now` is in Unix seconds. A cached token skips parsing: only its
 * signature and times are verified. Throws a TypeError for an unusable key, never for a token.
 *
 * @example
 * const token = signToken(claims, keys[0])
 * verifyToken(token, keys, { iss: 'tillkit', now: Math.floor(Date.now() / 1000) })
 */
export function verifyToken(
  token: string,
  keys: readonly SigningKey[],
  expected: { readonly iss: string; readonly now: number },
): VerifiedClaims | undefined {
  const end = token.length - MAC_LENGTH - 1
  if (token.length > MAX_LENGTH || token[end] !== '.') return undefined
  const input = token.slice(0, end)
  const signature = token.slice(end + 1)

  const ring = keys.map(prepare)
  const seen = recall(input, ring)
  if (seen && !isMac(signature, seen.mac)) return undefined
  const claims = seen ? seen.claims : verifyNew(input, signature, ring)
  return claims && areValid(claims, expected) ? claims : undefined
}

/** Verifies the signature of a token that is not cached, and parses its claims. */
function verifyNew(
  input: string,
  signature: string,
  ring: readonly PreparedKey[],
): VerifiedClaims | undefined {
  const dot = input.indexOf('.')
  if (dot < 0 || dot > MAX_HEADER_LENGTH) return undefined
  const header = input.slice(0, dot)

  const key = findKey(header, ring)
  if (key === undefined) return undefined
  const mac = key.mac(input)
  if (!isMac(signature, mac)) return undefined
  // Parses the header only if it differs from tillkit's own.
  if (header !== key.header && !isHeader(decode(header))) return undefined

  const members = decode(input.slice(dot + 1))
  if (!areClaims(members)) return undefined
  const claims = readClaims(members)
  remember(key, { input, mac, claims })
  return claims
}

/** Requires HS256: a token must not choose the algorithm by its `alg` (RFC 8725 section 3.1). */
function isHeader(members: Members | undefined): boolean {
  // Rejects a header with `crit`: tillkit supports no extension (RFC 7515 section 4.1.11).
  return members?.alg === 'HS256' && members.typ === 'JWT' && !('crit' in members)
}
