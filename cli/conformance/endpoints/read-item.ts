import { expectValues } from '../checks.ts'
import { endpoint } from '../standard.ts'
import { ITEM, valuesOf } from './item.ts'

const at = (id: string) => ({ item_id: encodeURIComponent(id.toWellFormed()) })

export const itemReading = endpoint({
  number: 6,
  answer: ITEM,
  request: async ({ item }) => at((await item()).id),
  minimal: async ({ createItem }) => at((await createItem()).id),
  checks: ({ check, refuses }) => [
    check('returns the values that were sent', 'Resources: Item', async ({ call, item }) => {
      const created = await item()
      expectValues(await call(6, at(created.id)), valuesOf(created))
    }),
    refuses('an unknown item with 404', ': errors', ({ unique }) => at(unique()), [404]),
    refuses('a malformed id with 400 or 404', ': errors', { item_id: '%zz' }, [400, 404]),
  ],
  open: ({ refuses }) => [
    refuses(
      'an item of another project with 404',
      ': errors',
      async ({ foreign }) => at((await foreign()).item_id),
      [404],
    ),
  ],
})
