import { expectStatus } from '../checks.ts'
import { boolean, record } from '../shape.ts'
import { endpoint } from '../standard.ts'

/** The statuses with which a server may refuse an import: the specification lists none. */
const REFUSALS = [400, 404, 409, 413, 415, 422]

export const purchaseImport = endpoint({
  number: 7,
  answer: record({ ok: boolean }),
  /** The CSV columns are those of tillkit, because the specification names none. */
  request: async ({ item, unique }) => {
    const { store_id, name } = (await item()).sent
    const file = `transaction_id,sku,purchased_at\n${unique()},${name},2026-01-31T12:00:00Z\n`
    return { form: { store_id, file } }
  },
  checks: ({ check, refuses }) => [
    refuses('a form without file', ': form parts', { file: undefined }, REFUSALS),
    refuses('a form without store_id', ': form parts', { store_id: undefined }, REFUSALS),
    check('refuses a JSON body', ': content type', async ({ call, store }) =>
      expectStatus(await call(7, { json: { store_id: await store(), file: 'a' } }), REFUSALS),
    ),
  ],
  open: ({ accepts, refuses }) => [
    accepts('a file with the columns of tillkit', ': CSV column layout', {}),
    refuses('a file without known columns', ': errors', { file: 'a,b\n1,2\n' }),
    refuses('an unknown store', ': errors', ({ unique }) => ({ store_id: unique() })),
    refuses('a store of another project', ': errors', async ({ foreign }) => ({
      store_id: (await foreign()).store_id,
    })),
  ],
})
