import { record, text } from '../shape.ts'
import { endpoint } from '../standard.ts'

const PRICE = 'Resources: Item, price rules'
const NAME = 'Resources: Item, name rules'
const TYPE = 'Resources: Item, item types'
const UNIQUENESS = 'Limits: item name uniqueness'

export const itemCreation = endpoint({
  number: 4,
  answer: record({ id: text, name: text, display_name: text, description: text }),
  request: async ({ newItem }) => ({
    json: { ...(await newItem()), description: 'An item', meta: { tags: ['a', 'b'] } },
  }),
  required: ['store_id', 'name', 'display_name', 'price', 'type'],
  optional: ['description', 'meta'],
  unusual: async (display_name, { newItem }) => ({ json: { ...(await newItem()), display_name } }),
  checks: ({ accepts, refuses, returns }) => [
    returns('the values that were sent', ': 200 response body', {
      display_name: 'Stück 💰',
      description: '"quoted" text',
    }),
    ...['consumable', 'non_consumable', 'subscription'].map((type) =>
      accepts(`the type ${type}`, TYPE, { type }),
    ),
    refuses('an unlisted type', TYPE, { type: 'rental' }),
    ...['4.99', '-499', 'free', ''].map((price) =>
      refuses(`the price ${JSON.stringify(price)}`, PRICE, { price }),
    ),
    refuses('an array as meta', 'Resources: Item, meta', { meta: ['a'] }),
    refuses('an unknown store', 'Errors: 400', ({ unique }) => ({ store_id: unique() })),
    refuses('a name that its store has', UNIQUENESS, async ({ item }) => {
      const { name, store_id } = (await item()).sent
      return { name, store_id }
    }),
    accepts('a name that another store has', UNIQUENESS, async ({ item, createStore }) => {
      const { name } = (await item()).sent
      return { name, store_id: await createStore() }
    }),
  ],
  open: ({ refuses }) => [
    refuses('a name with a space', NAME, ({ unique }) => ({ name: `${unique()} 100` })),
    refuses('a name with letters that are not Latin', NAME, ({ unique }) => ({
      name: `${unique()}_золото`,
    })),
  ],
})
