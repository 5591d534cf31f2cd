import type { Project, SessionRequest } from '../../lib/index.ts'
import { pick } from '../body.ts'
import type { Call } from '../routes.ts'

const FIELDS = ['public_key', 'user_id', 'device_info', 'dlscheme'] as const

/** Endpoint 1. */
export async function accessToken({ till, who }: Call<Project, undefined>) {
  return { body: await till.sessions.accessToken(who.public_key) }
}

/** Endpoint 2. */
export async function init({ till, who, body }: Call<Project, SessionRequest>) {
  const { project, session, stores } = await till.sessions.init(
    who.public_key,
    pick(body, ...FIELDS),
  )
  const { id, name, bundle_id, platform, status, dlscheme } = project
  return {
    body: {
      project: { id, name, bundle_id, platform, status, dlscheme },
      session,
      stores: stores.map(({ store_id, store_type, is_sandbox, status }) => ({
        id: store_id,
        store_type,
        is_sandbox,
        status,
      })),
    },
  }
}

/** Endpoint 3. */
export async function token({ till, who, body }: Call<Project, SessionRequest>) {
  return { body: await till.sessions.token(who.public_key, pick(body, ...FIELDS)) }
}
