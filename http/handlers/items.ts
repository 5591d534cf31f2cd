import {
  type Account,
  type Item,
  type ItemPage,
  MAX_PAGE,
  type NewItem,
  type Session,
} from '../../lib/index.ts'
import type { CreatedItemAnswer, ItemAnswer } from '../answers.ts'
import { runWhenFree } from '../in-flight.ts'
import { etagOf, represent, StreamedBody } from '../representation.ts'
import type { Call, Result } from '../route.ts'

/** `POST /items` */
export async function createItem({ till, caller, body, options }: Call<Account, NewItem>) {
  const item = await till.items.create(caller, body, options)
  const { id, name, display_name, description } = item
  return { body: { id, name, display_name, description } satisfies CreatedItemAnswer }
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
  const { limit = MAX_PAGE, cursor, name } = query
  const asked = { store_id: query.store_id as string, limit, cursor, name } // validated by the library
  const { account_id } = caller
  const { limits, concurrency, pageTurns } = context
  const list = () => till.items.list(caller, asked)
  // Only the whole list is surely in the cache. Any other page, of up to 512 KiB, takes up to 8 ms.
  const isWhole = query.limit === undefined && cursor === undefined
  const { items, next, revision } = isWhole ? await list() : await pageTurns.run(account_id, list)
  if (next === undefined) return { body: represent(items, listDto) }
  if (query.limit !== undefined) {
    return {
      body: represent(items, listDto, next),
      headers: { link: nextLink(prefix, query, next) },
    }
  }
  // Formatting the first page, of up to 1,000 items or 512 KiB, takes up to 40 ms, and other requests
  // wait meanwhile. So the list is sent in smaller pages.
  const pageLimit = Math.ceil(items.length / 8)
  const readPage = async (cursor?: string) => {
    const page = await till.items.list(caller, { ...asked, limit: pageLimit, cursor })
    await till.verify(caller)
    return page
  }
  const read = (cursor?: string) =>
    runWhenFree(concurrency.reads, account_id, limits.answerTimeout, () =>
      pageTurns.run(account_id, () => readPage(cursor)),
    )
  return { body: new StreamedBody(chunksOf(read, cursor), etagOf(revision)) }
}

/** `GET /items/{item_id}` */
export async function getItem({ till, caller, params }: Call<Session, undefined>): Promise<Result> {
  const { item_id = '' } = params
  return { body: represent(await till.items.get(caller, item_id), itemDto) }
}

function itemDto(item: Item): ItemAnswer {
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

/** Yields the JSON of the whole list, page by page. */
async function* chunksOf(
  read: (cursor?: string) => Promise<ItemPage>,
  start: string | undefined,
): AsyncGenerator<Buffer> {
  let opening = '{"items":['
  let cursor = start
  do {
    const { items, next } = await read(cursor)
    yield Buffer.from(opening + items.map((item) => JSON.stringify(itemDto(item))).join())
    opening = ','
    cursor = next
  } while (cursor !== undefined)
  yield Buffer.from(']}')
}
