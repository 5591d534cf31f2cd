import { type Account, type Item, type Session, TillError } from '../../lib/index.ts'
import type { Call } from '../routes.ts'

/** Endpoint 4. */
export async function createItem({ till, who, body }: Call<Account, unknown>) {
  const { id, name, display_name, description } = await till.items.create(who, body)
  return { body: { id, name, display_name, description } }
}

/** Endpoint 5. */
export async function listItems({ till, who, query }: Call<Session, undefined>) {
  const { items } = await till.items.list(who, query)
  return { body: { items: items.map(itemDto) } }
}

/** Endpoint 6. */
export async function getItem({ till, who, params }: Call<Session, undefined>) {
  const { item_id } = params
  if (item_id === undefined) {
    throw new TillError('invalid_request', 'The item_id in the path is not well percent-encoded')
  }
  return { body: itemDto(await till.items.get(who, item_id)) }
}

function itemDto(item: Item) {
  const { id, name, display_name, description, price, type, store_id, metadata } = item
  return { id, name, display_name, description, price, type, store_id, metadata }
}
