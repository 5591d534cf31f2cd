import { ACTIONS, type AuditAction, type AuditEntry } from '../domain/audit.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Item } from '../domain/item.ts'
import { isText } from '../domain/json.ts'
import type { Project } from '../domain/project.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import type { AuditedWrite, Insertion } from '../storage/port.ts'
import { authorityOf, type Caller, isSession } from './access.ts'
import type { Context } from './context.ts'

export interface CallOptions {
  /** An id to put in the audit log, such as the id of the HTTP request. */
  readonly requestId?: string | undefined
}

export interface CreateOptions extends CallOptions {
  /**
   * A key of 1 to 255 characters. Within 24 hours, a second call with the same key and input
   * changes nothing and returns the first result. With another input, it throws `invalid_request`.
   */
  readonly idempotencyKey?: string | undefined
}

const CALL_OPTIONS = ['requestId', 'idempotencyKey']

/** Throws a TypeError for an unknown option. */
export function assertCallOptions(options: CallOptions = {}): void {
  const unknown = Object.keys(options).find((name) => !CALL_OPTIONS.includes(name))
  if (unknown !== undefined) throw new TypeError(`there is no call option ${unknown}`)
}

/** The record that an audit entry is about: its id, project, store, and data about the change. */
export interface AuditSubject
  extends Partial<Pick<AuditEntry, 'project_id' | 'store_id' | 'data'>> {
  readonly subject: string
}

/** The subject of an audit entry about a project, store or item. */
export function subjectOf(record: Project | Store | Item): AuditSubject {
  if (!('project_id' in record)) return { subject: record.id, project_id: record.id }
  const { project_id, store_id } = record
  return { subject: 'id' in record ? record.id : store_id, project_id, store_id }
}

/**
 * Creates the storage's options for a change: the audit entry, and the conditions that the storage
 * verifies in the same transaction. `caller` is undefined for the operator.
 */
export function auditedWrite(
  { now }: Context,
  caller: Caller | undefined,
  action: AuditAction,
  about: string | AuditSubject,
  options: CallOptions = {},
): AuditedWrite {
  assertCallOptions(options)
  const {
    subject,
    project_id = '',
    store_id = '',
    data,
  }: AuditSubject = typeof about === 'string' ? { subject: about } : about
  const audit = {
    at: formatInstant(now()),
    actor: actorOf(caller),
    action,
    subject,
    account_id: caller?.account_id ?? '',
    project_id,
    store_id,
    request_id: options.requestId ?? '',
    ...(data && { data }),
  }
  return { audit, authority: authorityOf(caller, [ACTIONS[action].scope]) }
}

function actorOf(caller: Caller | undefined): string {
  if (caller && isSession(caller)) return `token:${caller.token_id}`
  return caller && 'key_id' in caller ? `key:${caller.key_id}` : 'operator'
}

const IDEMPOTENCY_MS = 24 * 3_600_000

/** A new record, the parsed input it is made from, and a function for the fields that were sent. */
export interface Creation<T> {
  readonly input: object
  readonly sent: () => object
  readonly record: T
}

/**
 * Creates a record, but only once for each idempotency key: a repeated call returns the first
 * record. `insert` writes the record with its audit entry. Returns undefined if another record has
 * the name. The idempotency record has only the fields of the result that are not in the input. It
 * has no secret, because all secrets are in the input.
 */
export async function createOnce<T extends Project | Store | Item>(
  context: Context,
  caller: Caller,
  action: AuditAction,
  { input, sent, record }: Creation<T>,
  options: CreateOptions,
  insert: (write: AuditedWrite) => Promise<Insertion>,
): Promise<T | undefined> {
  const write = auditedWrite(context, caller, action, subjectOf(record), options)
  const key = options.idempotencyKey
  if (key === undefined) return (await insert(write)) === 'inserted' ? record : undefined
  assertKey(key)
  const { storage, now, sealer } = context
  const { account_id } = caller
  const created_at = formatInstant(now())
  // Without defaults: a later version may add a field, and a retry is then the same request.
  const request = `${action}\n${JSON.stringify(sent())}`

  const findFirst = async (): Promise<T | undefined> => {
    const idempotency = await storage.findIdempotencyRecord(account_id, key)
    if (!idempotency || idempotency.expires_at <= created_at) return undefined
    if (write.authority) await storage.verifyAuthority(write.authority)
    if (!sealer.isDigest(idempotency.fingerprint, request)) {
      throw invalidField('Idempotency-Key', 'reused', 'was used before with another request')
    }
    return { ...record, ...JSON.parse(idempotency.answer) }
  }

  const fingerprint = sealer.digest(request)
  const added = Object.entries(record).filter(([name]) => !(name in input))
  const answer = JSON.stringify(Object.fromEntries(added))
  const expires_at = formatInstant(now() + IDEMPOTENCY_MS)
  const idempotency = { account_id, key, fingerprint, answer, created_at, expires_at }
  try {
    const insertion = await insert({ ...write, idempotency })
    if (insertion === 'repeated') return await findFirst()
    return insertion === 'inserted' ? record : undefined
  } catch (error) {
    // A repeat adds nothing, and gets its answer from an account that has used up a quota.
    const isFull = error instanceof TillError && error.code === 'quota_exceeded'
    const first = isFull ? await findFirst() : undefined
    if (first) return first
    throw error
  }
}

function assertKey(key: string): void {
  if (isText(key) && key.length >= 1 && key.length <= 255) return
  throw invalidField('Idempotency-Key', 'invalid', 'must be 1 to 255 characters')
}
