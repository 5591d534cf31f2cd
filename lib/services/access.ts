import type { Account, KeyScope } from '../domain/account.ts'
import { type Authority, assertKeyScopes, tokenRequired } from '../domain/authority.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Project } from '../domain/project.ts'
import { KEY_SCOPE_OF, type Scope, type Session } from '../domain/session.ts'
import { isActive } from '../domain/status.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import type { KeyedAccount, Storage } from '../storage/port.ts'
import { LEEWAY, readTokenId } from '../token/claims.ts'
import type { Context } from './context.ts'

/**
 * The caller of an operation. An account has access to all its records, a session only to one
 * project.
 */
export type Caller = Account | KeyedAccount | Session

export function isSession(caller: Caller): caller is Session {
  return 'project_id' in caller
}

/**
 * The credential that the transaction of a write verifies again, with the scopes that an account key
 * needs. Undefined for the operator, who has no credential.
 */
export function authorityOf(
  caller: Caller | undefined,
  scopes: readonly KeyScope[],
): Authority | undefined {
  if (!caller) return undefined
  if (!isSession(caller)) return isKeyed(caller) ? { key_id: caller.key_id, scopes } : undefined
  const { project_id, user_id, token_id, iat: issued_at } = caller
  const { issued_under } = readTokenId(token_id)
  return { token: { project_id, user_id, issued_under, issued_at } }
}

function isKeyed(caller: Account | KeyedAccount): caller is KeyedAccount {
  return 'key_id' in caller
}

/**
 * Throws `account_key_required` or `token_required` if the caller's credential was revoked or has
 * expired since it was authenticated. Throws `insufficient_scope` if an account key has lost one of
 * the scopes.
 */
export async function verifyCaller(
  { storage, now }: Context,
  caller: Caller,
  scopes: readonly KeyScope[] = [],
): Promise<void> {
  const authority = authorityOf(caller, scopes)
  if (authority) await storage.verifyAuthority(authority)
  if (isSession(caller) && isExpired(caller, now())) throw tokenRequired()
}

/**
 * Adds to a read that it verifies the caller's credential afterwards: it may have waited for its turn,
 * and a list may run for hours. Both end when the credential is revoked or loses the scope.
 */
export function verified<Args extends readonly unknown[], Result>(
  context: Context,
  caller: Caller,
  scope: KeyScope,
  read: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    const result = await read(...args)
    await verifyCaller(context, caller, [scope])
    return result
  }
}

/** Whether a session has expired at `now`, in Unix milliseconds, with the leeway of the clock. */
export function isExpired({ exp }: Session, now: number): boolean {
  return exp <= now / 1000 - LEEWAY
}

/**
 * Throws a TypeError unless the caller is an account, and `insufficient_scope` if its key lacks the
 * scope.
 */
export function assertAccount(caller: Caller, scope: KeyScope): void {
  if (!isAccount(caller)) {
    throw new TypeError('the caller must be an account: see accounts.authenticate')
  }
  assertKeyScope(caller, scope)
}

/**
 * Throws a TypeError unless the caller is an account or a session, and `insufficient_scope` if an
 * account key lacks the scope.
 */
export function assertCaller(caller: Caller, scope: KeyScope): void {
  if (isAccount(caller)) assertKeyScope(caller, scope)
  else if (typeof caller?.account_id !== 'string' || !('scopes' in caller)) {
    throw new TypeError('the caller must be an account or a session')
  }
}

function assertKeyScope(account: Account | KeyedAccount, scope: KeyScope): void {
  if (isKeyed(account)) assertKeyScopes(account, [scope])
}

/**
 * Throws a TypeError for a wrong caller, and `insufficient_scope` if a token lacks the scope, or an
 * account key the scope for the same.
 */
export function assertScope(caller: Caller, scope: Scope): void {
  assertCaller(caller, KEY_SCOPE_OF[scope])
  if (!isSession(caller) || caller.scopes.includes(scope)) return
  throw new TillError('insufficient_scope', `The token does not carry the scope ${scope}`)
}

/**
 * Whether the caller may activate webhook URLs and secrets. Those of another caller wait for a
 * confirmation: a session, because anyone with the public key can get one, or a key without `admin`.
 */
export function mayActivateWebhooks(caller: Caller): boolean {
  if (isSession(caller)) return false
  return !isKeyed(caller) || (caller.scopes?.includes('admin') ?? true)
}

/**
 * Whether the caller is an account. Projects, stores and items have an `account_id` too, but also
 * an `id` or a `project_id`.
 */
function isAccount(caller: Caller): caller is Account | KeyedAccount {
  return typeof caller?.account_id === 'string' && !('id' in caller) && !('project_id' in caller)
}

/**
 * Finds the project of a public key, or of a former key in its grace period. Throws
 * `invalid_public_key` for a missing or unknown key and `project_inactive` for one that is
 * not active.
 */
export async function getProjectByKey(
  { storage, now }: Context,
  publicKey: string | undefined,
): Promise<Project> {
  const project =
    publicKey &&
    ((await storage.findProjectByPublicKey(publicKey)) ??
      (await findProjectByFormerKey(storage, publicKey, now())))
  if (!project) {
    throw new TillError('invalid_public_key', 'The public project key is missing or unknown')
  }
  assertActive(project)
  return project
}

/** Throws `project_inactive` for a project that is not active. */
export function assertActive(project: Project): void {
  if (isActive(project)) return
  throw new TillError('project_inactive', `The project is ${project.status}`)
}

async function findProjectByFormerKey(
  storage: Storage,
  publicKey: string,
  now: number,
): Promise<Project | undefined> {
  const former = await storage.findFormerPublicKey(publicKey)
  if (!former || former.expires_at <= formatInstant(now)) return undefined
  const project = await storage.findProject(former.project_id)
  // Returns the key that was given: the holder of a former key must not learn the current one.
  return project && { ...project, public_key: publicKey }
}

/** Finds a project of the caller. Another account's project looks the same as an unknown one. */
export async function findReachableProject(
  storage: Storage,
  caller: Caller,
  id: string,
): Promise<Project | undefined> {
  if (isSession(caller) && caller.project_id !== id) return undefined
  const project = await storage.findProject(id)
  return project?.account_id === caller.account_id ? project : undefined
}

/**
 * The project that an input names in `field`. Throws `invalid_request` if the caller has no access
 * to it.
 */
export async function getNamedProject(
  storage: Storage,
  caller: Caller,
  id: string,
  field: string,
): Promise<Project> {
  const project = await findReachableProject(storage, caller, id)
  if (project) return project
  throw invalidField(field, 'unknown', 'names no project that this credential reaches')
}

/** The store that an input names. Throws `invalid_request` if the caller has no access to it. */
export async function getNamedStore(
  storage: Pick<Storage, 'findStore'>,
  caller: Caller,
  store_id: string,
): Promise<Store> {
  const store = await findReachableStore(storage, caller, store_id)
  if (store) return store
  throw unknownStore()
}

/**
 * Returns what is read from the store that an input names. Checks the store in parallel, to save a
 * round trip.
 */
export async function readNamedStore<T>(read: Promise<T>, check: Promise<Store>): Promise<T> {
  read.catch(() => {}) // a read of an unknown store may fail before the check
  await check
  return read
}

/** The error for a store that does not exist or that the caller has no access to. */
export function unknownStore(): TillError {
  return invalidField('store_id', 'unknown', 'names no store that this credential reaches')
}

/**
 * Finds a store of the caller. Does not read the store of another project, because the response
 * time would show whether it exists.
 */
export function findReachableStore(
  storage: Pick<Storage, 'findStore'>,
  caller: Caller,
  store_id: string,
): Promise<Store | undefined> {
  if (!isSession(caller)) return storage.findStore(caller.account_id, store_id)
  return storage.findStore(caller.account_id, store_id, caller.project_id)
}

/** Whether the caller has access to a record that belongs to this account and project. */
export function reaches(
  caller: Caller,
  record: { readonly account_id: string; readonly project_id: string },
): boolean {
  if (record.account_id !== caller.account_id) return false
  return !isSession(caller) || record.project_id === caller.project_id
}
