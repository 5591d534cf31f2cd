import type { Account, NewStore } from '../../lib/index.ts'
import type { Call } from '../route.ts'

/** `POST /stores` */
export async function createStore({ till, caller, body, options }: Call<Account, NewStore>) {
  const store = await till.stores.create(caller, body, options)
  const { store_id, project_id, store_type, is_sandbox, status, store_config } = store
  return { body: { store_id, project_id, store_type, is_sandbox, status, store_config } }
}
