import type { AuditAction } from '../domain/audit.ts'
import { invalidField, isText } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Insertion, WriteOptions } from '../storage/port.ts'
import { authorityOf, type Caller, isSession } from './access.ts'
import type { Context } from './context.ts'

/** What comes along with a call: all of it optional. */
export interface CallOptions {
  /** For the audit log. */
  readonly request_id?: string | undefined
}

/** What comes along with a call that makes a record. */
export interface CreateOptions extends CallOptions {
  /**
   * 1 to 255 characters. The same call with the same key within 24 h returns what the first one
   * returned and changes nothing; another input with that key is `invalid_request`.
   */
  readonly idempotency_key?: string | undefined
}

/**
 * The entry of the audit log for a change, and the authority that it rests on. `caller` is
 * undefined for the operator's own.
 */
export function auditedWrite(
  { now }: Context,
  caller: Caller | undefined,
  action: AuditAction,
  subject: string,
  options: CallOptions = {},
): WriteOptions {
  const audit = {
    at: formatInstant(now()),
    actor: actorOf(caller),
    action,
    subject,
    account_id: caller?.account_id ?? '',
    request_id: options.request_id ?? '',
  }
  return { audit, authority: authorityOf(caller) }
}

function actorOf(caller: Caller | undefined): string {
  if (caller && isSession(caller)) return `token:${caller.token_id}`
  return caller && 'key_id' in caller ? `key:${caller.key_id}` : 'operator'
}

const KEPT_MS = 24 * 3_600_000

/** What is made, the fields of it that were asked for, and the id it goes by. */
interface Making<T> {
  readonly asked: object
  readonly made: T
  readonly subject: string
}

/**
 * Makes a record, once for an idempotency key. `insert` writes the record with its audit entry. Resolves
 * to what was made, to what the first call with this key made, or to undefined when the name is
 * taken.
 *
 * A idempotency record keeps what was added to the fields asked for, and no secret with them: a repeat brings
 * the same fields along.
 */
export async function makeOnce<T extends object>(
  context: Context,
  caller: Caller,
  action: AuditAction,
  { asked, made, subject }: Making<T>,
  options: CreateOptions,
  insert: (write: WriteOptions) => Promise<Insertion>,
): Promise<T | undefined> {
  const write = auditedWrite(context, caller, action, subject, options)
  const key = options.idempotency_key
  if (key === undefined) return (await insert(write)) === 'inserted' ? made : undefined
  assertKey(key)
  const { storage, now, sealer } = context
  const { account_id } = caller
  const request = `${action}\n${JSON.stringify(asked)}`

  const findFirst = async (): Promise<T | undefined> => {
    const idempotency = await storage.findIdempotencyRecord(account_id, key)
    if (!idempotency || idempotency.expires_at <= formatInstant(now())) return undefined
    if (write.authority) await storage.verifyAuthority(write.authority)
    if (!sealer.isDigest(idempotency.fingerprint, request)) {
      throw invalidField('Idempotency-Key', 'reused', 'was used before with another request')
    }
    return { ...made, ...JSON.parse(idempotency.answer) }
  }

  const first = await findFirst()
  if (first) return first
  const fingerprint = sealer.digest(request)
  const added = Object.entries(made).filter(([name]) => !(name in asked))
  const answer = JSON.stringify(Object.fromEntries(added))
  const created_at = formatInstant(now())
  const expires_at = formatInstant(now() + KEPT_MS)
  const idempotency = { account_id, key, fingerprint, answer, created_at, expires_at }
  const insertion = await insert({ ...write, idempotency })
  if (insertion === 'repeated') return findFirst() // sent twice at the same time
  return insertion === 'inserted' ? made : undefined
}

function assertKey(key: string): void {
  if (isText(key) && key.length >= 1 && key.length <= 255) return
  throw invalidField('Idempotency-Key', 'invalid', 'must be 1 to 255 characters')
}
