import { randomBytes } from 'node:crypto'
import type { Members } from './segment.ts'

/** The claims of a token (RFC 7519 section 4): non-empty strings, times in whole Unix seconds. */
export interface Claims {
  readonly iss: string
  readonly sub: string
  readonly project_id: string
  readonly scope: string
  readonly jti: string
  readonly iat: number
  readonly exp: number
}

/** The claims of a verified token, and what its `scope` and its `jti` say. */
export interface VerifiedClaims extends Claims, ReturnType<typeof readTokenId> {
  readonly scopes: readonly string[]
}

/** The maximum difference between the clocks of signer and verifier, in seconds. */
export const LEEWAY = 5

/** Whether a token's payload has the claims that tillkit signs and accepts. */
export function areClaims(members: object | undefined): members is Claims {
  if (members === undefined) return false
  // Rejects a token with restrictions that tillkit does not check (RFC 7519 sections 4.1.3 and
  // 4.1.5).
  if ('aud' in members || 'nbf' in members) return false

  const { iss, sub, project_id, scope, jti, iat, exp } = members as Members
  return [iss, sub, project_id, scope, jti].every(isText) && [iat, exp].every(Number.isSafeInteger)
}

/** Drops unknown claims, as RFC 7519 section 4 requires. */
export function pickClaims({ iss, sub, project_id, scope, jti, iat, exp }: Claims): Claims {
  return { iss, sub, project_id, scope, jti, iat, exp }
}

/**
 * Parses claims, and drops unknown ones. Freezes the result, because all callers with the token share
 * it. `Object.assign` is faster to read than a spread.
 */
export function readClaims(claims: Claims): VerifiedClaims {
  const scopes = Object.freeze(claims.scope.split(' '))
  return Object.freeze(Object.assign(pickClaims(claims), readTokenId(claims.jti), { scopes }))
}

/**
 * Whether the issuer is the expected one and the token has not expired at `now`, in Unix seconds.
 * Does not check `iat`, because clocks may go back and RFC 7519 section 4.1.6 requires no check.
 */
export function areValid(
  { iss, exp }: Claims,
  expected: { readonly iss: string; readonly now: number },
): boolean {
  return iss === expected.iss && exp > expected.now - LEEWAY
}

/** Whether a claim is a text that is not empty. */
export function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.isWellFormed()
}

/**
 * Creates a token's `jti` from the current revocation watermark, an `a` if the account issues the
 * token, and 128 random bits.
 */
export function createTokenId(watermark: number, issued_by: 'account' | 'public_key'): string {
  const mark = issued_by === 'account' ? 'a' : ''
  return `${watermark}${mark}.${randomBytes(16).toString('base64url')}`
}

/**
 * Reads the revocation watermark and the issuer from a `jti`. If another program issued the token,
 * it has no watermark, and counts as issued with a public key.
 */
export function readTokenId(jti: string) {
  const [, watermark, mark] = /^(\d{1,15})(a?)\.[\w-]{22}$/.exec(jti) ?? []
  const issued_by = mark ? ('account' as const) : ('public_key' as const)
  return { issued_under: watermark === undefined ? undefined : Number(watermark), issued_by }
}
