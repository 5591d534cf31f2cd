import type { Account } from '../domain/account.ts'
import type { Authority } from '../domain/authority.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Project } from '../domain/project.ts'
import type { Scope, Session } from '../domain/session.ts'
import { isActive } from '../domain/status.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import type { KeyedAccount, Storage } from '../storage/port.ts'
import type { Context } from './context.ts'
import { watermarkInTokenId } from './ids.ts'

/** Who calls an operation: an account reaches all that it owns, a session one project of it. */
export type Caller = Account | KeyedAccount | Session

export function isSession(caller: Caller): caller is Session {
  return 'project_id' in caller
}

/** What a call of the caller's rests on; undefined for the operator, who holds no credential. */
export function authorityOf(caller: Caller | undefined): Authority | undefined {
  if (!caller) return undefined
  if (!isSession(caller)) return 'key_id' in caller ? { key_id: caller.key_id } : undefined
  const { project_id, user_id, token_id, issued_at } = caller
  return { token: { project_id, user_id, issued_under: watermarkInTokenId(token_id), issued_at } }
}

/** Guards an operation that only an account may call. */
export function assertAccount(caller: Caller): void {
  if (typeof caller?.account_id !== 'string' || isSession(caller)) {
    throw new TypeError('the caller must be an account: see accounts.authenticate')
  }
}

/** Guards an operation that a session may call when its token carries the scope. */
export function assertScope(caller: Caller, scope: Scope): void {
  if (typeof caller?.account_id !== 'string') {
    throw new TypeError('the caller must be an account or a session')
  }
  if (!isSession(caller) || caller.scopes.includes(scope)) return
  throw new TillError('insufficient_scope', `The token does not carry the scope ${scope}`)
}

/**
 * The project of a public key, or of a former one in its grace time. Throws `invalid_public_key`
 * for one that is missing or unknown, and `project_inactive` when the project is disabled or
 * archived.
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

/** Guards what opens sessions. */
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
  // As it was before: one who holds the former key alone is not given the new one for it.
  return project && { ...project, public_key: publicKey }
}

/** The project, when the caller reaches it. Foreign and unknown answer alike. */
export async function findReachableProject(
  storage: Storage,
  caller: Caller,
  id: string,
): Promise<Project | undefined> {
  if (isSession(caller) && caller.project_id !== id) return undefined
  const project = await storage.findProject(id)
  return project?.account_id === caller.account_id ? project : undefined
}

/** The project that a request names in `field`, which the caller must reach. */
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

/** The store that a request names in `store_id`, which the caller must reach. */
export async function getNamedStore(
  storage: Storage,
  caller: Caller,
  store_id: string,
): Promise<Store> {
  const store = await findReachableStore(storage, caller, store_id)
  if (store) return store
  throw unknownStore()
}

/** For a store that does not exist or that the caller does not reach. */
export function unknownStore(): TillError {
  return invalidField('store_id', 'unknown', 'names no store that this credential reaches')
}

/**
 * The store, when the caller reaches it. A foreign one is not read: it would take longer than one
 * that does not exist.
 */
export async function findReachableStore(
  storage: Storage,
  caller: Caller,
  store_id: string,
): Promise<Store | undefined> {
  if (!isSession(caller)) return storage.findStore(caller.account_id, store_id)
  return storage.findStore(caller.account_id, store_id, caller.project_id)
}

/** Whether a record of a project is within the caller's reach. */
export function reaches(
  caller: Caller,
  record: { readonly account_id: string; readonly project_id: string },
): boolean {
  if (record.account_id !== caller.account_id) return false
  return !isSession(caller) || record.project_id === caller.project_id
}
