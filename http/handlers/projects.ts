import type { Account, NewProject, ProjectChange, Session } from '../../lib/index.ts'
import { pick } from '../body.ts'
import type { Call } from '../routes.ts'

const CREATE = [
  'account_id',
  'name',
  'bundle_id',
  'platform',
  'status',
  'dlscheme',
  'config',
] as const

/** Endpoint 8. The public key goes into a header: the body has no field for it. */
export async function createProject({ till, who, body, options }: Call<Account, NewProject>) {
  const project = await till.projects.create(who, pick(body, ...CREATE), options)
  const { id, account_id, name, bundle_id, platform, status, config, public_key } = project
  return {
    body: { id, account_id, name, bundle_id, platform, status, config },
    headers: { 'x-public-project-key': public_key },
  }
}

/** Endpoint 9. */
export async function updateProject({ till, who, body, options }: Call<Session, ProjectChange>) {
  const change = pick(body, 'id', 'name', 'platform', 'config')
  const project = await till.projects.update(who, change, options)
  const { id, account_id, name, bundle_id, platform, status, public_key, config } = project
  return { body: { id, account_id, name, bundle_id, platform, status, public_key, config } }
}
