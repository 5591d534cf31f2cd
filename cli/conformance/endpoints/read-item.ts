import { expectValues } from '../checks.ts'
import { endpoint } from '../standard.ts'
import { ITEM, valuesOf } from './item.ts'

export const itemReading = endpoint({
  number: 6,
  answer: ITEM,
  request: async ({ item }) => ({ item_id: (await item()).id }),
  minimal: async ({ createItem }) => ({ item_id: (await createItem()).id }),
  checks: ({ check, refuses }) => [
    check('returns the values that were sent', 'Resources: Item', async ({ call, item }) => {
      const created = await item()
      expectValues(await call(6, { item_id: created.id }), valuesOf(created))
    }),
    refuses('an unknown item with 404', ': errors', ({ unique }) => ({ item_id: unique() }), [404]),
    refuses('a malformed id with 400 or 404', ': errors', { item_id: '%zz' }, [400, 404]),
  ],
  open: ({ refuses }) => [
    refuses(
      'an item of another project with 404',
      ': errors',
      async ({ foreign }) => ({ item_id: (await foreign()).item_id }),
      [404],
    ),
  ],
})
