import {
  type Account,
  type Item,
  type ItemPage,
  MAX_PAGE,
  type NewItem,
  type Session,
  TillError,
} from '../../lib/index.ts'
import { pick } from '../body.ts'
import { workWhenFree } from '../concurrency.ts'
import { etagOf, represent } from '../representation.ts'
import type { Answer, Call } from '../routes.ts'
import { Stream } from '../send.ts'
import { nextTurn, takeTurn } from '../turns.ts'

const FIELDS = ['store_id', 'name', 'display_name', 'description', 'price', 'type', 'meta'] as const

/** Endpoint 4. */
export async function createItem({ till, who, body, options }: Call<Account, NewItem>) {
  const item = await till.items.create(who, pick(body, ...FIELDS), options)
  const { id, name, display_name, description } = item
  return { body: { id, name, display_name, description } }
}

/**
 * Endpoint 5. A store of more than a page that is asked for as a whole is read and sent page by
 * page, so that it takes no more memory than one.
 */
export async function listItems({
  till,
  who,
  query,
  service,
}: Call<Session, undefined>): Promise<Answer> {
  const { limit = MAX_PAGE, cursor } = query
  const asked = { store_id: query.store_id as string, limit, cursor } // the library refuses none
  const list = await till.items.list(who, asked)
  const { items, next, revision } = list
  if (next === undefined) return { body: represent(items, listDto) }
  if (query.limit !== undefined) {
    return { body: represent(items, listDto, next), headers: { link: linkTo(query, next) } }
  }
  const { limits, concurrency } = service
  const read = (cursor: string | undefined, limit: number) =>
    workWhenFree(concurrency.reads, who.account_id, limits.answerTimeout, () =>
      till.items.list(who, { ...asked, cursor, limit }),
    )
  const first = takeTurn() ? chunkOf('{"items":[', list) : undefined
  return { body: new Stream(chunksOf(who.account_id, read, items.length, first), etagOf(revision)) }
}

/** Endpoint 6. */
export async function getItem({ till, who, params }: Call<Session, undefined>): Promise<Answer> {
  const { item_id } = params
  if (item_id === undefined) {
    throw new TillError('invalid_request', 'The item_id in the path is not well percent-encoded')
  }
  return { body: represent(await till.items.get(who, item_id), itemDto) }
}

function itemDto(item: Item) {
  const { id, name, display_name, description, price, type, store_id, metadata } = item
  return { id, name, display_name, description, price, type, store_id, metadata }
}

function listDto(items: readonly Item[]) {
  return { items: items.map(itemDto) }
}

/** RFC 8288. */
function linkTo({ store_id = '', limit = '' }: Call<Session, undefined>['query'], cursor: string) {
  return `</api/v1/items?${new URLSearchParams({ store_id, limit, cursor })}>; rel="next"`
}

/** The bytes of a page, and where the next one begins. */
interface Chunk {
  readonly bytes: Buffer
  readonly next: string | undefined
}

/**
 * The same bytes as the whole list at once would have, of which the first page has `length` items.
 * Each page is formatted in a turn of its own. Many lists at once hold no page while they wait, for
 * their turn or for their client: when `first` is missing, its page is read again.
 */
async function* chunksOf(
  account: string,
  read: (cursor: string | undefined, limit: number) => Promise<ItemPage>,
  length: number,
  first: Chunk | undefined,
): AsyncGenerator<Buffer> {
  const nextChunk = async (opening: string, limit: number, cursor?: string): Promise<Chunk> => {
    await nextTurn(account)
    return chunkOf(opening, await read(cursor, limit))
  }
  // The limit of the first read: the cache has its page.
  let chunk = first ?? (await nextChunk('{"items":[', MAX_PAGE))
  // Where sixteen items fill a page, PostgreSQL is not to measure a thousand for each.
  const limit = Math.min(MAX_PAGE, 2 * length)
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
