import {
  type Account,
  type Item,
  type ItemPage,
  type ItemQuery,
  MAX_PAGE,
  type NewItem,
  type Session,
  TillError,
} from '../../lib/index.ts'
import { etagOf, represent } from '../representation.ts'
import type { Answer, Call } from '../routes.ts'
import { Stream } from '../send.ts'

/** Endpoint 4. */
export async function createItem({ till, who, body, options }: Call<Account, NewItem>) {
  const { id, name, display_name, description } = await till.items.create(who, body, options)
  return { body: { id, name, display_name, description } }
}

/**
 * Endpoint 5. A store of more than a page that is asked for as a whole is read and sent page by
 * page, so that it takes no more memory than one.
 */
export async function listItems({ till, who, query }: Call<Session, undefined>): Promise<Answer> {
  const asked = query as typeof query & ItemQuery
  const list = await till.items.list(who, asked)
  const { items, next, revision } = list
  if (next === undefined) return { body: represent(items, listDto) }
  if (query.limit !== undefined) {
    return { body: represent(items, listDto, next), headers: { link: linkTo(query, next) } }
  }
  const rest = (cursor: string, limit: number) => till.items.list(who, { ...asked, cursor, limit })
  return { body: new Stream(piecesOf(list, rest), etagOf(revision)) }
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

/**
 * The same bytes as the whole list at once would have. While some wait for the client nothing else
 * is kept of their page.
 */
async function* piecesOf(
  page: ItemPage | undefined,
  rest: (cursor: string, limit: number) => Promise<ItemPage>,
): AsyncGenerator<Buffer> {
  let opening = '{"items":['
  while (page) {
    const { next } = page
    // Where sixteen items fill a page, PostgreSQL is not to measure a thousand for each.
    const limit = Math.min(MAX_PAGE, 2 * page.items.length)
    const piece = Buffer.from(opening + formatItems(page))
    page = undefined
    yield piece
    if (next !== undefined) page = await rest(next, limit)
    opening = ','
  }
  yield Buffer.from(']}')
}

function formatItems({ items }: ItemPage): string {
  return items.map((item) => JSON.stringify(itemDto(item))).join()
}
