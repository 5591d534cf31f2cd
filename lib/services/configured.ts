import type { AuditAction } from '../domain/audit.ts'
import type { Changed, Quota } from '../storage/port.ts'
import type { Caller } from './access.ts'
import {
  auditedWrite,
  type CallOptions,
  type CreateOptions,
  type Creation,
  createOnce,
  subjectOf,
} from './audit.ts'
import type { Context } from './context.ts'
import {
  configBytes,
  isStore,
  keyChecksOf,
  type SecretHolder,
  sealSecrets,
} from './secret-fields.ts'
import { endpointWrites } from './webhooks/endpoints.ts'

// Projects and stores have a configuration, which may have secrets and a webhook URL.

/** Creates a project or store once: see `createOnce`. Encrypts its secrets. */
export function createConfigured<T extends SecretHolder>(
  context: Context,
  caller: Caller,
  { quota, ...creation }: Creation<T> & { readonly quota: Quota },
  options: CreateOptions,
): Promise<T | undefined> {
  const { storage, sealer } = context
  const { record } = creation
  const action = isStore(record) ? 'store.create' : 'project.create'
  return createOnce(context, caller, action, creation, options, (write) => {
    const sealed: SecretHolder = sealSecrets(record, sealer)
    const all = { ...write, quota, ...writesOfChange(context, caller, undefined, sealed) }
    return isStore(sealed) ? storage.insertStore(sealed, all) : storage.insertProject(sealed, all)
  })
}

/**
 * Replaces a stored project or store by the result of `change`. Checks the quota only if the
 * configuration grows. Resolves to the stored record.
 */
export async function updateConfigured<T extends SecretHolder>(
  context: Context,
  caller: Caller,
  action: AuditAction,
  record: T,
  change: (current: T) => T,
  { quota, ...options }: CallOptions & { readonly quota?: Quota | undefined } = {},
): Promise<T> {
  const { storage } = context
  const write = auditedWrite(context, caller, action, subjectOf(record), options)
  const apply = <S extends SecretHolder>(current: S): Changed<S> => {
    const next: SecretHolder = change(current as unknown as T)
    const isGrown = configBytes(next) > configBytes(current)
    return {
      record: next as S,
      quota: isGrown ? quota : undefined,
      ...writesOfChange(context, caller, current, next),
    }
  }
  const changed = isStore(record)
    ? await storage.updateStore(record, apply, write)
    : await storage.updateProject(record.id, apply, write)
  return changed as T // always found, because projects and stores are never deleted
}

/** The additional writes of a new or changed project or store. */
export function writesOfChange(
  context: Context,
  caller: Caller,
  before: SecretHolder | undefined,
  after: SecretHolder,
) {
  return {
    endpoints: endpointWrites(context, caller, before, after),
    keyChecks: keyChecksOf(context.sealer, before, after),
  }
}
