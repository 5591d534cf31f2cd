import type { Account, NewProject, ProjectChange, Session } from '../../lib/index.ts'
import { pick } from '../body.ts'
import type { Call } from '../call.ts'

const CREATE = [
  'account_id',
  'name',
  'bundle_id',
  'platform',
  'status',
  'dlscheme',
  'config',
] as const

/**
 * `POST /projects`. The answer has the public key in a header, because its specified body has no
 * field for the key.
 */
export async function createProject({ till, caller, body, options }: Call<Account, NewProject>) {
  const project = await till.projects.create(caller, pick(body, ...CREATE), options)
  const { id, account_id, name, bundle_id, platform, status, config, public_key } = project
  return {
    body: { id, account_id, name, bundle_id, platform, status, config },
    headers: { 'x-public-project-key': public_key },
  }
}

/** `PUT /projects` */
export async function updateProject({ till, caller, body, options }: Call<Session, ProjectChange>) {
  const change = pick(body, 'id', 'name', 'platform', 'config')
  const project = await till.projects.update(caller, change, options)
  const { id, account_id, name, bundle_id, platform, status, public_key, config } = project
  return { body: { id, account_id, name, bundle_id, platform, status, public_key, config } }
}
