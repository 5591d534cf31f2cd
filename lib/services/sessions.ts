import { formatInstant } from '../domain/instant.ts'
import { type Project, withoutProjectSecrets } from '../domain/project.ts'
import { parseSessionRequest, SCOPES, type Scope, type Session } from '../domain/session.ts'
import { isActive } from '../domain/status.ts'
import { type Store, withoutStoreSecrets } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { assertScope, getProjectByKey } from './access.ts'
import type { Context } from './context.ts'
import { createTokenId } from './ids.ts'

/** A token as endpoints 2 and 3 answer it; `expires_at` is the token's `exp`. */
export interface IssuedToken {
  readonly token: string
  /** ISO 8601, UTC, whole seconds. */
  readonly expires_at: string
  readonly expires_in_seconds: number
}

export interface InitializedSession {
  readonly project: Project
  readonly session: IssuedToken
  /** The project's stores that are not disabled or archived, in order of creation. */
  readonly stores: Store[]
}

/**
 * The first three take the public project key as it came, and judge it as `projects.authenticate`.
 */
export interface Sessions {
  /** Endpoint 1: a token whose subject is the project itself. */
  accessToken(
    publicKey: string | undefined,
  ): Promise<{ readonly access_token: string; readonly ttl_seconds: number }>
  /** Endpoint 2. */
  init(publicKey: string | undefined, input: unknown): Promise<InitializedSession>
  /** Endpoint 3. */
  token(publicKey: string | undefined, input: unknown): Promise<IssuedToken>
  /**
   * The session of a bearer token; `token_required` whatever is wrong with it, `insufficient_scope`
   * when it is valid and does not carry `scope`.
   */
  authenticate(token: string | undefined, scope?: Scope): Promise<Session>
}

export function createSessions(context: Context): Sessions {
  const { storage, now, keyring, issuer, tokenLifetime } = context

  const issue = async (project: Project, subject: string): Promise<IssuedToken> => {
    const iat = Math.floor(now() / 1000)
    const exp = iat + tokenLifetime
    const token = await keyring.sign({
      iss: issuer,
      sub: subject,
      project_id: project.id,
      scope: SCOPES.join(' '),
      jti: createTokenId(),
      iat,
      exp,
    })
    const expires_at = formatInstant(exp * 1000).replace('.000Z', 'Z')
    return { token, expires_at, expires_in_seconds: tokenLifetime }
  }

  return {
    async accessToken(publicKey) {
      const project = await getProjectByKey(storage, publicKey)
      const { token } = await issue(project, project.id)
      return { access_token: token, ttl_seconds: tokenLifetime }
    },

    async init(publicKey, input) {
      const project = await getProjectByKey(storage, publicKey)
      const { user_id } = parseSessionRequest(input, project.public_key)
      const stores = (await storage.listStores(project.id))
        .filter(isActive)
        .map(withoutStoreSecrets)
      const session = await issue(project, user_id)
      return { project: withoutProjectSecrets(project), session, stores }
    },

    async token(publicKey, input) {
      const project = await getProjectByKey(storage, publicKey)
      const { user_id } = parseSessionRequest(input, project.public_key)
      return issue(project, user_id)
    },

    async authenticate(token, scope) {
      const claims = token && (await keyring.verify(token, { iss: issuer, now: now() / 1000 }))
      const project = claims && (await storage.findProject(claims.project_id))
      if (!claims || !project || !isActive(project)) {
        throw new TillError('token_required', 'The bearer token is missing, invalid or expired')
      }
      const session = {
        account_id: project.account_id,
        project_id: project.id,
        user_id: claims.sub,
        scopes: claims.scope.split(' ') as Scope[],
      }
      if (scope) assertScope(session, scope)
      return session
    },
  }
}
