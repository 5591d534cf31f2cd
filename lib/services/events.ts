import { setImmediate } from 'node:timers/promises'
import type { NumberedEntry } from '../domain/audit.ts'
import { eventOf } from '../domain/event.ts'
import { isObject, type JsonObject } from '../domain/fields.ts'
import type { MessageKey, NewMessage } from '../domain/message.ts'
import type { WebhookBody } from '../domain/webhook.ts'
import type { Refund, Storage } from '../storage/port.ts'

/** The maximum size of a body in bytes. */
const BODY_BYTES = 64 * 1024
/** The rest of a body with refunds. */
const FRAME_BYTES = 1024
const REFUNDS_PER_PART = 500

/**
 * The messages that an endpoint receives of an entry. An import has one more for each 500 purchases
 * that it moved to refunded or cancelled.
 */
export async function messagesOf(
  storage: Storage,
  endpoint_id: string,
  entry: NumberedEntry,
): Promise<NewMessage[]> {
  const type = eventOf(entry)
  if (!type) return []
  // The time makes the id unique when a copy of the database numbers its entries anew.
  const id = `msg_${entry.seq}_${Date.parse(entry.at).toString(36)}`
  const key = { endpoint_id, sequence: entry.seq }
  const message: NewMessage = { ...key, part: 0, parts: 0, type, webhook_id: id }
  if (type !== 'purchases.imported' || entry.data?.updated === 0) return [message]
  const ranges = await refundRanges(storage, entry.subject)
  const parts = ranges.length
  const refunded = ranges.map((part_range, i): NewMessage => {
    const part = i + 1
    const webhook_id = `${id}_${part}_${parts}`
    return { ...key, part, parts, type: 'purchases.refunded', webhook_id, part_range }
  })
  return [message, ...refunded]
}

/** Splits the refunds of an import. A part has at most 500, and fits into a body. */
async function refundRanges(storage: Storage, import_id: string): Promise<string[]> {
  const ranges: string[] = []
  let start = '0'
  let count = 0
  let bytes = 0
  let after: string | undefined
  do {
    const page = await storage.listRefunds(import_id, {
      limit: REFUNDS_PER_PART,
      ...(after !== undefined && { after }),
    })
    for (const refund of page.records) {
      const size = Buffer.byteLength(JSON.stringify(refundData(refund))) + 1
      if (count === REFUNDS_PER_PART || bytes + size > BODY_BYTES - FRAME_BYTES) {
        ranges.push(`${start}:${count}`)
        start = after ?? '0'
        count = 0
        bytes = 0
      }
      count++
      bytes += size
      after = refund.cursor
    }
    after = page.next
    await setImmediate()
  } while (after !== undefined)
  if (count > 0) ranges.push(`${start}:${count}`)
  return ranges
}

function refundData({ cursor: _, ...refund }: Refund): JsonObject {
  return { ...refund }
}

type Message = MessageKey & Pick<NewMessage, 'type' | 'parts' | 'part_range'>

/**
 * The body of a message. Records are shown as they are now. Resolves to undefined when nothing is
 * left to tell: the import of refunds was undone.
 */
export async function bodyOf(
  storage: Storage,
  entry: NumberedEntry,
  { type, part, parts, part_range }: Message,
): Promise<string | undefined> {
  const data = part_range
    ? await refundsData(storage, entry, part_range)
    : await DATA[type](storage, entry)
  if (!data) return undefined
  const head = { type, timestamp: entry.at, sequence: entry.seq }
  const format = (shown: JsonObject) => {
    const body: WebhookBody = { ...head, ...(parts > 0 && { part, parts }), data: shown }
    return JSON.stringify(body)
  }
  const body = format(data)
  return Buffer.byteLength(body) <= BODY_BYTES ? body : format(shortened(data))
}

type DataOf = (storage: Storage, entry: NumberedEntry) => Promise<JsonObject | undefined>

const itemData: DataOf = async (storage, { subject, store_id, data }) => {
  const item = await storage.findItem(subject)
  if (!item) return undefined
  const { account_id: _, project_id: _project, store_id: _store, ...shown } = item
  const { name: _name, ...change } = data ?? {}
  return { store_id, item: shown, ...(Object.keys(change).length > 0 && { change }) }
}

const storeData: DataOf = async (storage, { account_id, store_id }) => {
  const store = await storage.findStore(account_id, store_id)
  if (!store) return undefined
  const { store_type, is_sandbox, status, created_at } = store
  return { store: { store_id, store_type, is_sandbox, status, created_at } }
}

const importData: DataOf = async (storage, { account_id, subject, store_id, data }) => {
  const totals = (await storage.findImport(account_id, subject))?.totals
  return { store_id, import_id: subject, ...data, ...(totals && { totals }) }
}

const DATA: { readonly [Type in WebhookBody['type']]: DataOf } = {
  'project.updated': async (storage, { subject }) => {
    const project = await storage.findProject(subject)
    if (!project) return undefined
    const { id, name, bundle_id, platform, status, dlscheme, created_at } = project
    return { project: { id, name, bundle_id, platform, status, dlscheme, created_at } }
  },
  'store.created': storeData,
  'store.updated': storeData,
  'item.created': itemData,
  'item.updated': itemData,
  'item.archived': itemData,
  'item.restored': itemData,
  'purchases.imported': importData,
  'purchases.undone': importData,
  'purchase.recorded': async (storage, { account_id, store_id, subject, data }) => {
    const transaction_id = subject.slice(store_id.length + 1)
    const user_id = await storage.findPurchaseUser({ account_id, store_id }, transaction_id)
    return { store_id, transaction_id, ...(user_id !== undefined && { user_id }), ...data }
  },
  'purchases.refunded': async () => undefined,
  'user.erased': async (_storage, { subject, project_id, data }) => ({
    project_id,
    pseudonym: subject.slice(project_id.length + 1),
    ...data,
  }),
  'webhook.test': async (_storage, { project_id, store_id }) => ({
    project_id,
    ...(store_id !== '' && { store_id }),
  }),
}

async function refundsData(
  storage: Storage,
  { subject: import_id, store_id }: NumberedEntry,
  range: string,
): Promise<JsonObject | undefined> {
  const [after = '0', count] = range.split(':')
  const { records } = await storage.listRefunds(import_id, { after, limit: Number(count) })
  if (records.length === 0) return undefined
  return { store_id, import_id, purchases: records.map(refundData) }
}

/** Removes large parts: texts of an item, and the totals of a file with many currencies. */
function shortened({ totals: _, item, ...data }: JsonObject): JsonObject {
  if (!isObject(item)) return { ...data, is_shortened: true }
  const { metadata: _metadata, description: _text, ...shown } = item
  return { ...data, item: shown, is_shortened: true }
}
