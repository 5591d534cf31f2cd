import {
  type Account,
  type Item,
  type ItemPage,
  type ItemValues,
  MAX_PAGE,
  type NewItem,
  type Session,
  TillError,
} from '../../lib/index.ts'
import type { Call, Result } from '../call.ts'
import { runWhenFree } from '../concurrency.ts'
import { etagOf, represent, StreamedBody } from '../representation.ts'
import { tryTakeTurn, waitForTurn } from '../scheduler.ts'

/** `POST /items` */
export async function createItem({ till, caller, body, options }: Call<Account, NewItem>) {
  const item = await till.items.create(caller, body, options)
  const { id, name, display_name, description } = item
  return { body: { id, name, display_name, description } }
}

/**
 * `GET /items`. Without `limit` the answer has all items of the store. A large store is read and
 * sent page by page, which keeps only one page in memory.
 */
export async function listItems({
  till,
  caller,
  query,
  prefix,
  context,
}: Call<Session, undefined>): Promise<Result> {
  const { limit = MAX_PAGE, cursor } = query
  const asked = { store_id: query.store_id as string, limit, cursor } // validated by the library
  const list = await till.items.list(caller, asked)
  const { items, next, revision } = list
  if (next === undefined) return { body: represent(items, listDto) }
  if (query.limit !== undefined) {
    return {
      body: represent(items, listDto, next),
      headers: { link: nextLink(prefix, query, next) },
    }
  }
  const { limits, concurrency } = context
  const read = (cursor: string | undefined, limit: number) =>
    runWhenFree(concurrency.reads, caller.account_id, limits.answerTimeout, () =>
      till.items.list(caller, { store_id: asked.store_id, limit, cursor }),
    )
  const first = tryTakeTurn() ? chunkOf('{"items":[', list) : undefined
  return {
    body: new StreamedBody(
      chunksOf(caller.account_id, read, items.length, first),
      etagOf(revision),
    ),
  }
}

/** `GET /items/{item_id}` */
export async function getItem({ till, caller, params }: Call<Session, undefined>): Promise<Result> {
  const { item_id } = params
  if (item_id === undefined) {
    throw new TillError('invalid_request', 'The item_id in the path is not valid percent-encoding')
  }
  return { body: represent(await till.items.get(caller, item_id), itemDto) }
}

function itemDto(item: Item): ItemValues & Pick<Item, 'id' | 'store_id'> {
  const { id, name, display_name, description, price, type, store_id, metadata } = item
  return { id, name, display_name, description, price, type, store_id, metadata }
}

function listDto(items: readonly Item[]) {
  return { items: items.map(itemDto) }
}

/** The value of a `Link` header (RFC 8288) for the next page. */
function nextLink(
  prefix: string,
  { store_id = '', limit = '' }: Call<Session, undefined>['query'],
  cursor: string,
) {
  return `<${prefix}/api/v1/items?${new URLSearchParams({ store_id, limit, cursor })}>; rel="next"`
}

/** The JSON of one page of a list. */
interface Chunk {
  readonly bytes: Buffer
  /** The cursor of the page after this one. */
  readonly next: string | undefined
}

/**
 * Yields the JSON of the whole list, page by page. The first page has `length` items. Each page is
 * formatted in its own turn of the event loop. If other requests wait for a turn, the handler
 * discards the first page to save memory. `first` is then undefined, and this function reads that
 * page again.
 */
async function* chunksOf(
  account: string,
  read: (cursor: string | undefined, limit: number) => Promise<ItemPage>,
  length: number,
  first: Chunk | undefined,
): AsyncGenerator<Buffer> {
  const nextChunk = async (opening: string, limit: number, cursor?: string): Promise<Chunk> => {
    await waitForTurn(account)
    return chunkOf(opening, await read(cursor, limit))
  }
  // Reads with the limit that the handler used, so that the page comes from the cache.
  let chunk = first ?? (await nextChunk('{"items":[', MAX_PAGE))
  // Later pages have an eighth of the first page's items. Formatting the first page, of up to 1,000
  // items or 1 MiB, takes up to 80 ms, and other requests wait meanwhile.
  const limit = Math.ceil(length / 8)
  yield chunk.bytes
  while (chunk.next !== undefined) {
    chunk = await nextChunk(',', limit, chunk.next)
    yield chunk.bytes
  }
  yield Buffer.from(']}')
}

function chunkOf(opening: string, page: ItemPage): Chunk {
  return { bytes: Buffer.from(opening + formatItems(page)), next: page.next }
}

function formatItems({ items }: ItemPage): string {
  return items.map((item) => JSON.stringify(itemDto(item))).join()
}
