import type { Account, NewProject, NewStore, ProjectChange, Session } from '../../lib/index.ts'
import type { CreatedProjectAnswer, ProjectAnswer, StoreAnswer } from '../answers.ts'
import type { Call } from '../route.ts'

/**
 * `POST /projects`. The answer has the public key in a header, because its specified body has no
 * field for the key.
 */
export async function createProject({ till, caller, body, options }: Call<Account, NewProject>) {
  const project = await till.projects.create(caller, body, options)
  const { id, account_id, name, bundle_id, platform, status, config, public_key } = project
  return {
    body: {
      id,
      account_id,
      name,
      bundle_id,
      platform,
      status,
      config,
    } satisfies CreatedProjectAnswer,
    headers: { 'x-public-project-key': public_key },
  }
}

/** `PUT /projects` */
export async function updateProject({ till, caller, body, options }: Call<Session, ProjectChange>) {
  const project = await till.projects.update(caller, body, options)
  const { id, account_id, name, bundle_id, platform, status, public_key, config } = project
  const answer = { id, account_id, name, bundle_id, platform, status, public_key, config }
  const isSet = typeof body.config?.webhook_url === 'string'
  const isWaiting = isSet && (await till.projects.hasUnconfirmedWebhook(caller, id))
  const headers = isWaiting ? { 'webhook-status': 'unconfirmed' } : undefined
  return { body: answer satisfies ProjectAnswer, ...(headers && { headers }) }
}

/** `POST /stores` */
export async function createStore({ till, caller, body, options }: Call<Account, NewStore>) {
  const store = await till.stores.create(caller, body, options)
  const { store_id, project_id, store_type, is_sandbox, status, store_config } = store
  const answer = { store_id, project_id, store_type, is_sandbox, status, store_config }
  return { body: answer satisfies StoreAnswer }
}
