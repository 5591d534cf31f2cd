import { expect, expectValues } from '../checks.ts'
import { list, record, valueAt } from '../shape.ts'
import { endpoint } from '../standard.ts'
import type { World } from '../world.ts'
import { ITEM, valuesOf } from './item.ts'

const query = (store_id: string) => `?store_id=${encodeURIComponent(store_id.toWellFormed())}`

/** Reads the list of a store's items, and finds the item with the given id. */
async function findItem({ call }: World, store_id: string, id: string) {
  const answer = await call(5, { query: query(store_id) })
  const items = valueAt(answer.body, 'items')
  const found = Array.isArray(items) && items.find((each) => valueAt(each, 'id') === id)
  return { answer, found }
}

export const itemList = endpoint({
  number: 5,
  answer: record({ items: list(ITEM) }),
  request: async ({ item }) => ({ query: query((await item()).sent.store_id) }),
  unusual: async (text) => ({ query: query(text) }),
  checks: ({ check, refuses }) => [
    check('lists an item with the values that were sent', 'Resources: Item', async (world) => {
      const item = await world.item()
      const { answer, found } = await findItem(world, item.sent.store_id, item.id)
      expectValues({ ...answer, body: found }, valuesOf(item))
    }),
    check('lists no item of another store', ': purpose', async (world) => {
      const { id } = await world.item()
      const { answer, found } = await findItem(world, await world.createStore(), id)
      expect(!found, `no item with the id ${id}`, answer)
    }),
    refuses('a request without store_id', ': query parameter', { query: '' }),
  ],
  open: ({ refuses }) => [
    refuses('an unknown store', 'Errors: 400', ({ unique }) => ({ query: query(unique()) })),
    refuses('a store of another project', 'Errors: 400', async ({ foreign }) => ({
      query: query((await foreign()).store_id),
    })),
  ],
})
