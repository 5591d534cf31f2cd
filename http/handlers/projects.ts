import type { Account, NewProject, ProjectChange, Session } from '../../lib/index.ts'
import type { Call } from '../routes.ts'

/** Endpoint 8. The public key goes into a header: the body has no field for it. */
export async function createProject({ till, who, body, options }: Call<Account, NewProject>) {
  const project = await till.projects.create(who, body, options)
  const { id, account_id, name, bundle_id, platform, status, config, public_key } = project
  return {
    body: { id, account_id, name, bundle_id, platform, status, config },
    headers: { 'x-public-project-key': public_key },
  }
}

/** Endpoint 9. */
export async function updateProject({ till, who, body, options }: Call<Session, ProjectChange>) {
  const project = await till.projects.update(who, body, options)
  const { id, account_id, name, bundle_id, platform, status, public_key, config } = project
  return { body: { id, account_id, name, bundle_id, platform, status, public_key, config } }
}
