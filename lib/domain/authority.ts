import { TillError } from '../errors.ts'
import type { AccountKey, KeyScope } from './account.ts'
import { isActive } from './status.ts'
import type { Store } from './store.ts'

/**
 * The conditions under which a caller may write. They are checked before the body of the request is
 * read, and again in the transaction of the write. The operator has no conditions.
 */
export interface Authority {
  /** The id of an account key, which must not be revoked. */
  readonly key_id?: string
  /** The scopes that the key must have. */
  readonly scopes?: readonly KeyScope[]
  /** A token, which must not be revoked. Its project must be active. */
  readonly token?: TokenOrigin
  /** The store to write to, which must be active. */
  readonly store?: Pick<Store, 'account_id' | 'store_id'>
}

/** The facts of a token that decide whether it is revoked. */
interface TokenOrigin {
  readonly project_id: string
  readonly user_id: string
  /** The revocation watermark when the token was issued. Undefined if another program issued it. */
  readonly issued_under: number | undefined
  /** The token's `iat`, Unix seconds. */
  readonly issued_at: number
}

/**
 * Throws `account_key_required`, `insufficient_scope`, `token_required` or `store_inactive` for a
 * failed condition. Each write of a storage calls it in its transaction, with the stored facts that
 * the conditions need. The statuses are those of the token's project and of the store, if they exist.
 */
export function assertAuthority(
  { key_id, scopes = [], token, store }: Authority,
  {
    key,
    project_status,
    watermark = 0,
    store_status,
  }: {
    readonly key?: Pick<AccountKey, 'scopes'> | undefined
    readonly project_status?: string | undefined
    readonly watermark?: number
    readonly store_status?: string | undefined
  },
): void {
  if (key_id !== undefined) {
    if (!key) throw keyRequired()
    assertKeyScopes(key, scopes)
  }
  if (token && (!isActiveStatus(project_status) || isRevoked(token, watermark))) {
    throw tokenRequired()
  }
  if (store && !isActiveStatus(store_status)) {
    throw new TillError('store_inactive', `The store is ${store_status ?? 'not there'}`)
  }
}

/** Throws `insufficient_scope` for the first scope that a key lacks. */
export function assertKeyScopes(
  { scopes: given }: Pick<AccountKey, 'scopes'>,
  scopes: readonly KeyScope[],
): void {
  const missing = given && scopes.find((scope) => !given.includes(scope))
  if (missing === undefined) return
  const message = `does not have the scope ${missing}`
  const details = [{ field: 'x-account-key', code: 'scope', message }]
  throw new TillError('insufficient_scope', `The account key ${message}`, details)
}

/** The error for a missing, unknown or revoked account key. */
export function keyRequired(): TillError {
  return new TillError('account_key_required', 'The account key is missing or unknown')
}

/** The error for every invalid token. */
export function tokenRequired(): TillError {
  return new TillError('token_required', 'The bearer token is missing, invalid or expired')
}

function isActiveStatus(status: string | undefined): boolean {
  return status !== undefined && isActive({ status })
}

/**
 * A revocation increases the watermark of a project or user. A token that was issued under a lower
 * watermark is revoked. Does not compare times, because the clocks of servers differ. Only a token
 * without a watermark, which another program issued, is compared by its issue time.
 */
function isRevoked({ issued_under, issued_at }: TokenOrigin, watermark: number): boolean {
  return issued_under === undefined ? issued_at <= watermark : issued_under < watermark
}
