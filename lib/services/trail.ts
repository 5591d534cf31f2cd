import type { AuditAction } from '../domain/audit.ts'
import { invalidField, isText } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Insertion, Trail } from '../storage/port.ts'
import { type Caller, isSession } from './access.ts'
import type { Context } from './context.ts'
import { hashText } from './ids.ts'

/** What comes along with a call: all of it optional. */
export interface CallOptions {
  /** For the audit log. */
  readonly request_id?: string | undefined
  /**
   * 1 to 255 characters. The same call with the same key within 24 h returns what the first one
   * returned and changes nothing; another input with that key is `invalid_request`.
   */
  readonly idempotency_key?: string | undefined
}

/** The entry of the audit log for a change. `caller` is undefined for the operator's own. */
export function trailOf(
  { now }: Context,
  caller: Caller | undefined,
  action: AuditAction,
  subject: string,
  options: CallOptions = {},
): Trail {
  const audit = {
    at: formatInstant(now()),
    actor: actorOf(caller),
    action,
    subject,
    account_id: caller?.account_id ?? '',
    request_id: options.request_id ?? '',
  }
  return { audit }
}

function actorOf(caller: Caller | undefined): string {
  if (caller && isSession(caller)) return `token:${caller.token_id}`
  return caller && 'key_id' in caller ? `key:${caller.key_id}` : 'operator'
}

const KEPT_MS = 24 * 3_600_000

/** What is made, from what input, and the id it goes by. */
interface Making<T> {
  readonly input: unknown
  readonly made: T
  readonly subject: string
}

/**
 * Makes a record, once for an idempotency key. `insert` writes the record with its trail. Resolves to
 * what was made, to what the first call with this key made, or to undefined when the name is taken.
 */
export async function makeOnce<T extends object>(
  context: Context,
  caller: Caller,
  action: AuditAction,
  { input, made, subject }: Making<T>,
  options: CallOptions,
  insert: (trail: Trail) => Promise<Insertion>,
): Promise<T | undefined> {
  const trail = trailOf(context, caller, action, subject, options)
  const key = options.idempotency_key
  if (key === undefined) return (await insert(trail)) === 'inserted' ? made : undefined
  assertKey(key)
  const { storage, now, sealer } = context
  const { account_id } = caller
  const fingerprint = hashText(`${action}\n${JSON.stringify(input)}`)
  const place = `receipt/${account_id}/${key}`

  const findFirst = async (): Promise<T | undefined> => {
    const receipt = await storage.findReceipt(account_id, key)
    if (!receipt || receipt.expires_at <= formatInstant(now())) return undefined
    if (receipt.fingerprint !== fingerprint) {
      throw invalidField('Idempotency-Key', 'reused', 'was used before with another request')
    }
    return JSON.parse(sealer.open(JSON.parse(receipt.answer), place))
  }

  const first = await findFirst()
  if (first) return first
  const answer = JSON.stringify(sealer.seal(JSON.stringify(made), place))
  const created_at = formatInstant(now())
  const expires_at = formatInstant(now() + KEPT_MS)
  const receipt = { account_id, key, fingerprint, answer, created_at, expires_at }
  const insertion = await insert({ ...trail, receipt })
  if (insertion === 'repeated') return findFirst() // sent twice at the same time
  return insertion === 'inserted' ? made : undefined
}

function assertKey(key: string): void {
  if (isText(key) && key.length >= 1 && key.length <= 255) return
  throw invalidField('Idempotency-Key', 'invalid', 'must be 1 to 255 characters')
}
