import type { Project, SessionRequest } from '../../lib/index.ts'
import type { AccessTokenAnswer, InitializedSessionAnswer, SessionAnswer } from '../answers.ts'
import type { Call } from '../route.ts'

/** `GET /identity/auth/access-token` */
export async function accessToken({ till, caller }: Call<Project, undefined>) {
  const { access_token, ttl_seconds } = await till.sessions.accessToken(caller.public_key)
  return { body: { access_token, ttl_seconds } satisfies AccessTokenAnswer }
}

/** `POST /identity/auth/init` */
export async function init({ till, caller, body }: Call<Project, SessionRequest>) {
  const { project, session, stores } = await till.sessions.init(caller.public_key, body)
  const { id, name, bundle_id, platform, status, dlscheme } = project
  const { token, expires_at, expires_in_seconds } = session
  return {
    body: {
      project: { id, name, bundle_id, platform, status, dlscheme },
      session: { token, expires_at, expires_in_seconds },
      stores: stores.map(({ store_id, store_type, is_sandbox, status }) => ({
        id: store_id,
        store_type,
        is_sandbox,
        status,
      })),
    } satisfies InitializedSessionAnswer,
  }
}

/** `POST /identity/auth/token` */
export async function token({ till, caller, body }: Call<Project, SessionRequest>) {
  const issued = await till.sessions.token(caller.public_key, body)
  const { token, expires_at, expires_in_seconds } = issued
  return { body: { token, expires_at, expires_in_seconds } satisfies SessionAnswer }
}
