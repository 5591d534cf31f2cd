import { TillError } from '../errors.ts'
import { isActive } from './status.ts'
import type { Store } from './store.ts'

/**
 * What a call rests on. It is verified with the credential, and once more in the transaction that
 * writes. The operator has none.
 */
export interface Authority {
  /** An account key, which must not be revoked. */
  readonly key_id?: string
  /** A token, which must not be revoked; its project must be active. */
  readonly token?: TokenOrigin
  /** A store, which must be active. */
  readonly store?: Pick<Store, 'account_id' | 'store_id'>
}

/** Whose a token is, and when it was issued. */
export interface TokenOrigin {
  readonly project_id: string
  readonly user_id: string
  /** The revocation watermark at that time; undefined in a token of another tool. */
  readonly issued_under: number | undefined
  /** The token's `iat`, Unix seconds. */
  readonly issued_at: number
}

/** What a storage holds of an authority. Only what the authority names is read. */
export interface AuthorityState {
  /** Whether there is such an account key that is not revoked. */
  readonly has_key?: boolean
  /** Absent when there is no such project. */
  readonly project_status?: string | undefined
  /** The revocation watermark of the token's project and user. */
  readonly watermark?: number
  /** Absent when there is no such store. */
  readonly store_status?: string | undefined
}

/** Throws `account_key_required`, `token_required` or `store_inactive`. */
export function assertAuthority(
  { key_id, token, store }: Authority,
  { has_key = false, project_status, watermark = 0, store_status }: AuthorityState,
): void {
  if (key_id !== undefined && !has_key) throw keyRequired()
  if (token && (!isActiveStatus(project_status) || isRevoked(token, watermark))) {
    throw tokenRequired()
  }
  if (store && !isActiveStatus(store_status)) {
    throw new TillError('store_inactive', `The store is ${store_status ?? 'not there'}`)
  }
}

/** For an account key that is missing, unknown or revoked. */
export function keyRequired(): TillError {
  return new TillError('account_key_required', 'The account key is missing or unknown')
}

/** For a token, whatever is wrong with it. */
export function tokenRequired(): TillError {
  return new TillError('token_required', 'The bearer token is missing, invalid or expired')
}

function isActiveStatus(status: string | undefined): boolean {
  return status !== undefined && isActive({ status })
}

/**
 * Compares watermarks, not clocks: a clock may go back, and two machines' clocks differ. Only a
 * token of another tool, which names no watermark, is verified by its `iat`.
 */
function isRevoked({ issued_under, issued_at }: TokenOrigin, watermark: number): boolean {
  return issued_under === undefined ? issued_at <= watermark : issued_under < watermark
}
