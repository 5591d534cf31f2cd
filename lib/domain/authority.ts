import { TillError } from '../errors.ts'
import { isActive } from './status.ts'
import type { Store } from './store.ts'

/**
 * The conditions of a write. They are verified before the body is read and again in the transaction
 * that writes. The operator has none.
 */
export interface Authority {
  /** An account key, which must not be revoked. */
  readonly key_id?: string
  /** A token, which must not be revoked; its project must be active. */
  readonly token?: TokenOrigin
  /** A store, which must be active. */
  readonly store?: Pick<Store, 'account_id' | 'store_id'>
}

/** The owner of a token and the time of its issue. */
export interface TokenOrigin {
  readonly project_id: string
  readonly user_id: string
  /** The revocation watermark at the time of issue; undefined for a token of another tool. */
  readonly issued_under: number | undefined
  /** The token's `iat`, Unix seconds. */
  readonly issued_at: number
}

/** The state of an authority in the storage. Absent for conditions that it has not. */
export interface AuthorityState {
  /** Whether the account key exists and is not revoked. */
  readonly has_key?: boolean
  /** Absent for an unknown project. */
  readonly project_status?: string | undefined
  /** The revocation watermark of the token's project and user. */
  readonly watermark?: number
  /** Absent for an unknown store. */
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

/** For a missing, unknown or revoked account key. */
export function keyRequired(): TillError {
  return new TillError('account_key_required', 'The account key is missing or unknown')
}

/** For every invalid token. */
export function tokenRequired(): TillError {
  return new TillError('token_required', 'The bearer token is missing, invalid or expired')
}

function isActiveStatus(status: string | undefined): boolean {
  return status !== undefined && isActive({ status })
}

/**
 * Compares watermarks, not clocks: clocks may go back or differ between machines. A token of
 * another tool has no watermark, so its `iat` is compared.
 */
function isRevoked({ issued_under, issued_at }: TokenOrigin, watermark: number): boolean {
  return issued_under === undefined ? issued_at <= watermark : issued_under < watermark
}
