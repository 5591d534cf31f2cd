import { expect } from '../checks.ts'
import { boolean, holds, list, oneOf, record, text, valueAt } from '../shape.ts'
import { SESSION, sessionEndpoint } from './sessions.ts'

const ANSWER = record({
  project: record({
    id: text,
    name: text,
    bundle_id: text,
    platform: text,
    status: text,
    dlscheme: text,
  }),
  session: record(SESSION),
  stores: list(
    record({
      id: text,
      store_type: oneOf('iap', 'web', 'custom'),
      is_sandbox: boolean,
      status: text,
    }),
  ),
})

export const init = sessionEndpoint(2, ANSWER, ['session'], ({ check }) => [
  check('lists a new store, with store_id as id', 'Resources: Store, store_id', async (world) => {
    const fields = { store_type: 'custom', is_sandbox: true }
    const store = { id: await world.createStore(fields), ...fields }
    const answer = await world.call(2, { json: world.newSession() })
    const stores = valueAt(answer.body, 'stores')
    const isListed = Array.isArray(stores) && stores.some((each) => holds(each, store))
    expect(isListed || stores === undefined, `a store ${JSON.stringify(store)}`, answer)
  }),
])
