import type { Members } from './segment.ts'

/** What a token says (RFC 7519 section 4). Strings are non-empty, times whole Unix seconds. */
export interface Claims {
  readonly iss: string
  readonly sub: string
  readonly project_id: string
  readonly scope: string
  readonly jti: string
  readonly iat: number
  readonly exp: number
}

/** How far the clocks of signer and verifier may differ, in seconds. */
export const LEEWAY = 5

/** Claims of a form that we sign and accept. */
export function areClaims(members: object | undefined): members is Claims {
  if (members === undefined) return false
  // They narrow a token's use and we do not process them (RFC 7519 sections 4.1.3 and 4.1.5).
  if ('aud' in members || 'nbf' in members) return false

  const { iss, sub, project_id, scope, jti, iat, exp } = members as Members
  return [iss, sub, project_id, scope, jti].every(isText) && [iat, exp].every(Number.isSafeInteger)
}

/** Claims that we do not know are left out, as RFC 7519 section 4 has it. */
export function pickClaims({ iss, sub, project_id, scope, jti, iat, exp }: Claims): Claims {
  return { iss, sub, project_id, scope, jti, iat, exp }
}

/**
 * Whether they are those of that issuer and valid at `now`, in Unix seconds. An `iat` that lies
 * ahead is no fault: a clock may go back, and RFC 7519 section 4.1.6 asks for no check.
 */
export function areValid(
  { iss, exp }: Claims,
  expected: { readonly iss: string; readonly now: number },
): boolean {
  return iss === expected.iss && exp > expected.now - LEEWAY
}

export function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.isWellFormed()
}
