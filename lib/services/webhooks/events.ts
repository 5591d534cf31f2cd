import { setImmediate } from 'node:timers/promises'
import type { NumberedEntry } from '../../domain/audit.ts'
import { eventOf, type WebhookEventType } from '../../domain/event.ts'
import { isObject, type JsonObject } from '../../domain/json.ts'
import type { MessageKey, NewMessage } from '../../domain/message.ts'
import type { WebhookBody } from '../../domain/webhook.ts'
import type { Refund, Storage } from '../../storage/port.ts'

/** The maximum size of a message body in bytes. */
const BODY_BYTES = 64 * 1024
/** The bytes that a message body needs for everything except its refunds. */
const FRAME_BYTES = 1024
const REFUNDS_PER_PART = 500

interface ReadingLimits {
  /** The `rest` that the previous call for the same entry returned; '' in the first call. */
  readonly rest: string
  /** The maximum number of messages to create; at least 1. */
  readonly messages: number
  /** The maximum number of pages of refunds to read. */
  readonly pages: number
}

interface EntryReading {
  readonly messages: readonly NewMessage[]
  /** `<last part>:<cursor>`, where the next call continues; '' if the entry is complete. */
  readonly rest: string
  /** The number of pages of refunds that were read. */
  readonly pages: number
}

/**
 * Creates the next messages that an endpoint receives for an audit entry. An import or a recording
 * has further messages with the purchases that it moved to refunded or cancelled. There may be millions of
 * these purchases, so they are read in parts.
 */
export async function readMessages(
  storage: Storage,
  endpoint_id: string,
  entry: NumberedEntry,
  limits: ReadingLimits,
): Promise<EntryReading> {
  const row = eventOf(entry)
  if (!row) return { messages: [], rest: '', pages: 0 }
  // The id contains the time, because a restored database may give the same `seq` to another entry.
  const webhook_id = `msg_${entry.seq}_${Date.parse(entry.at).toString(36)}`
  const { event: type } = row
  const message: NewMessage = { endpoint_id, sequence: entry.seq, part: 0, type, webhook_id }
  const first = row.event === 'purchases.refunded' ? [] : [message]
  if ('refunds' in row && mayHaveRefunds(entry)) {
    const begun = limits.rest === '' ? first : []
    return readRefunds(storage, importOf(entry), message, row.refunds, begun, limits)
  }
  return { messages: first, rest: '', pages: 0 }
}

/** Whether an import changed purchases, or a recording may have refunded one. */
function mayHaveRefunds({ data: { updated, status } = {} }: NumberedEntry): boolean {
  return updated !== 0 && status !== 'purchased' && status !== 'pending'
}

/** The import that holds the changes of an entry. A recorded purchase has an import of its own. */
function importOf({ subject, data }: NumberedEntry): string {
  return typeof data?.import_id === 'string' ? data.import_id : subject
}

/** Reads the import's refunds page by page, and creates a message for each page that is not empty. */
async function readRefunds(
  storage: Storage,
  import_id: string,
  first: NewMessage,
  type: WebhookEventType,
  begun: readonly NewMessage[],
  limits: ReadingLimits,
): Promise<EntryReading> {
  const messages = [...begun]
  const [last = '0', cursor = '0'] = limits.rest.split(':')
  let part = Number(last)
  let after = cursor
  for (let pages = 0; ; pages++) {
    if (messages.length >= limits.messages || pages >= limits.pages) {
      return { messages, rest: `${part}:${after}`, pages }
    }
    const { records, next } = await storage.listRefunds(import_id, {
      after,
      limit: REFUNDS_PER_PART,
    })
    const count = countFitting(records)
    if (count > 0) {
      part++
      const webhook_id = `${first.webhook_id}_${part}`
      messages.push({ ...first, part, type, webhook_id, part_range: `${after}:${count}` })
    }
    const isAll = count === records.length
    if (isAll && next === undefined) return { messages, rest: '', pages: pages + 1 }
    after = isAll ? (next as string) : (records[count - 1] as Refund).cursor
    await setImmediate() // yields to the event loop, because the storage may answer without I/O
  }
}

/** The number of refunds that fit into a body. */
function countFitting(refunds: readonly Refund[]): number {
  let bytes = FRAME_BYTES
  const end = refunds.findIndex((refund) => {
    bytes += Buffer.byteLength(JSON.stringify(refundData(refund))) + 1
    return bytes > BODY_BYTES
  })
  return end < 0 ? refunds.length : Math.max(1, end)
}

function refundData({ cursor: _, ...refund }: Refund): JsonObject {
  return { ...refund }
}

/** Parses the numbers of the audit entry and part from a `webhook-id`; undefined if malformed. */
export function parseWebhookId(webhook_id: string): Omit<MessageKey, 'endpoint_id'> | undefined {
  const [, sequence, part = 0] =
    /^msg_(\d{1,15})_[\da-z]{1,12}(?:_(\d{1,9}))?$/.exec(webhook_id) ?? []
  return sequence === undefined ? undefined : { sequence: Number(sequence), part: Number(part) }
}

/** The headers of a message, except for its signature. `timestamp` is in Unix seconds. */
export function headersOf(webhook_id: string, timestamp: number) {
  return {
    'content-type': 'application/json',
    'webhook-id': webhook_id,
    'webhook-timestamp': String(timestamp),
  }
}

type Message = MessageKey & Pick<NewMessage, 'type' | 'part_range'>

/**
 * Returns the body of a message. Shows records as they are now. Resolves to undefined when there is
 * nothing to report any more: the import with the refunds was undone, for example.
 */
export async function bodyOf(
  storage: Storage,
  entry: NumberedEntry,
  { type, part, part_range }: Message,
): Promise<string | undefined> {
  const row = eventOf(entry)
  const kind = row && 'data' in row ? row.data : undefined
  const data = part_range
    ? await refundsData(storage, entry, part_range)
    : kind && (await DATA[kind](storage, entry))
  if (!data) return undefined
  const head = { type, timestamp: entry.at, sequence: entry.seq }
  const format = (shown: JsonObject) => {
    const body: WebhookBody = { ...head, ...(part > 0 && { part }), data: shown }
    return JSON.stringify(body)
  }
  const body = format(data)
  return Buffer.byteLength(body) <= BODY_BYTES ? body : format(shortened(data))
}

type EventData = Extract<ReturnType<typeof eventOf>, { readonly data: string }>['data']

type DataOf = (storage: Storage, entry: NumberedEntry) => Promise<JsonObject | undefined>

/** Creates the `data` of each kind. */
const DATA: { readonly [Kind in EventData]: DataOf } = {
  project: async (storage, { subject }) => {
    const project = await storage.findProject(subject)
    if (!project) return undefined
    const { id, name, bundle_id, platform, status, dlscheme, created_at } = project
    return { project: { id, name, bundle_id, platform, status, dlscheme, created_at } }
  },
  store: async (storage, { account_id, store_id }) => {
    const store = await storage.findStore(account_id, store_id)
    if (!store) return undefined
    const { store_type, is_sandbox, status, created_at } = store
    return { store: { store_id, store_type, is_sandbox, status, created_at } }
  },
  item: async (storage, { subject, store_id, data }) => {
    const item = await storage.findItem(subject)
    if (!item) return undefined
    const { account_id: _, project_id: _project, store_id: _store, ...shown } = item
    const { name: _name, ...change } = data ?? {}
    return { store_id, item: shown, ...(Object.keys(change).length > 0 && { change }) }
  },
  import: async (storage, { account_id, subject, store_id, data }) => {
    const { totals, others } = (await storage.findImport(account_id, subject)) ?? {}
    return {
      store_id,
      import_id: subject,
      ...data,
      ...(totals && { totals }),
      ...(others !== undefined && { others }),
    }
  },
  purchase: async (storage, { account_id, store_id, subject, data }) => {
    const transaction_id = subject.slice(store_id.length + 1)
    const user_id = await storage.findPurchaseUser({ account_id, store_id }, transaction_id)
    return { store_id, transaction_id, ...(user_id !== undefined && { user_id }), ...data }
  },
  user: async (_storage, { subject, project_id, data }) => ({
    project_id,
    pseudonym: subject.slice(project_id.length + 1),
    ...data,
  }),
  endpoint: async (_storage, { project_id, store_id }) => ({
    project_id,
    ...(store_id !== '' && { store_id }),
  }),
}

async function refundsData(
  storage: Storage,
  entry: NumberedEntry,
  range: string,
): Promise<JsonObject | undefined> {
  const import_id = importOf(entry)
  const { store_id } = entry
  const [after = '0', count] = range.split(':')
  const { records } = await storage.listRefunds(import_id, { after, limit: Number(count) })
  if (records.length === 0) return undefined
  return { store_id, import_id, purchases: records.map(refundData) }
}

/** Removes the large parts of an event: an item's metadata and description, and import totals. */
function shortened({ totals: _, item, ...data }: JsonObject): JsonObject {
  if (!isObject(item)) return { ...data, is_shortened: true }
  const { metadata: _metadata, description: _text, ...shown } = item
  return { ...data, item: shown, is_shortened: true }
}
