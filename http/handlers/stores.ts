import type { Account } from '../../lib/index.ts'
import type { Call } from '../routes.ts'

/** Endpoint 10. */
export async function createStore({ till, who, body }: Call<Account, unknown>) {
  const store = await till.stores.create(who, body)
  const { store_id, project_id, store_type, is_sandbox, status, store_config } = store
  return { body: { store_id, project_id, store_type, is_sandbox, status, store_config } }
}
