import type { Project, SessionRequest } from '../../lib/index.ts'
import type { Call } from '../route.ts'

/** `GET /identity/auth/access-token` */
export async function accessToken({ till, caller }: Call<Project, undefined>) {
  return { body: await till.sessions.accessToken(caller.public_key) }
}

/** `POST /identity/auth/init` */
export async function init({ till, caller, body }: Call<Project, SessionRequest>) {
  const { project, session, stores } = await till.sessions.init(caller.public_key, body)
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

/** `POST /identity/auth/token` */
export async function token({ till, caller, body }: Call<Project, SessionRequest>) {
  return { body: await till.sessions.token(caller.public_key, body) }
}
