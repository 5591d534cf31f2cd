import type { Account } from '../domain/account.ts'
import { assertAuthority, tokenRequired } from '../domain/authority.ts'
import { invalidField, parseObject } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Project } from '../domain/project.ts'
import {
  KEY_SCOPE_OF,
  type NewToken,
  newTokenFields,
  parseSessionRequest,
  revocationFields,
  SCOPES,
  type Scope,
  type Session,
  type SessionRequest,
  type TokenCheck,
  type TokenIssuer,
  type TokenRevocation,
  type TokenState,
  tokenCheckFields,
} from '../domain/session.ts'
import { TillError } from '../errors.ts'
import { recordsOf, type StoreSummary } from '../storage/port.ts'
import { createTokenId } from '../token/claims.ts'
import {
  assertAccount,
  assertActive,
  assertScope,
  authorityOf,
  getNamedProject,
  getProjectByKey,
  isExpired,
} from './access.ts'
import { auditedWrite, type CallOptions } from './audit.ts'
import type { Context } from './context.ts'
import { withoutSecrets } from './secret-fields.ts'

export interface IssuedToken {
  readonly token: string
  /** The token's `exp` as ISO 8601 in UTC, with whole seconds. */
  readonly expires_at: string
  readonly expires_in_seconds: number
}

export interface InitializedSession {
  readonly project: Project
  readonly session: IssuedToken
  /** The stores of the project, in order of creation. Use those whose `status` is `active`. */
  readonly stores: readonly StoreSummary[]
}

/**
 * Opens sessions and issues tokens. `accessToken`, `init` and `token` verify the public key as
 * `projects.authenticate` does. With `lockdown`, these three give only the scope `items:read`.
 */
export interface Sessions {
  /** Issues a token of the project itself, without a user. */
  accessToken(
    publicKey: string | undefined,
  ): Promise<{ readonly access_token: string; readonly ttl_seconds: number }>
  /** Issues a token of a user. Returns it with the project and its stores. */
  init(publicKey: string | undefined, input: SessionRequest): Promise<InitializedSession>
  /** Issues a token of a user. */
  token(publicKey: string | undefined, input: SessionRequest): Promise<IssuedToken>
  /**
   * Returns the session of a bearer token. Throws `token_required` for any invalid token and
   * `insufficient_scope` for a valid one without the scope.
   */
  authenticate(token: string | undefined, scope?: Scope): Promise<Session>
  /** Whether the token of a session has expired. */
  isExpired(session: Session): boolean
  /**
   * Issues a token, even with `lockdown`. An account key gives the scopes `projects:write` and
   * `purchases:import` only if it has `catalog` and `purchases` itself.
   */
  issue(account: Account, input: NewToken, options?: CallOptions): Promise<IssuedToken>
  /**
   * Tells whether a token is valid, and whose it is: for a server that gets it from its client. A
   * token of another account is not active.
   */
  check(account: Account, input: TokenCheck): Promise<TokenState>
  /**
   * Revokes all tokens of a project, or of one user, that were issued until now. Takes effect at
   * once in all processes on the same storage.
   */
  revoke(account: Account, input: TokenRevocation, options?: CallOptions): Promise<void>
}

export function createSessions(context: Context): Sessions {
  const { storage, now, keyring, issuer, lockdown } = context
  const publicScopes: readonly Scope[] = lockdown ? ['items:read'] : SCOPES
  const seconds = () => Math.floor(now() / 1000)

  const allStores = async (project_id: string): Promise<readonly StoreSummary[]> => {
    const stores: StoreSummary[] = []
    const all = recordsOf((page) => storage.listStoreSummaries(project_id, page))
    for await (const store of all) stores.push(store)
    return stores
  }

  const newTokenId = async (
    project_id: string,
    user_id: string,
    issued_by: TokenIssuer,
  ): Promise<string> => createTokenId(await storage.findWatermark(project_id, user_id), issued_by)

  const issue = async (
    project: Project,
    subject: string,
    given: { jti?: string; scopes?: readonly Scope[]; ttl?: number | undefined } = {},
  ): Promise<IssuedToken> => {
    const { scopes = publicScopes, ttl = Math.floor(context.tokenLifetime / 1000) } = given
    const exp = seconds() + ttl
    const token = await keyring.sign({
      iss: issuer,
      sub: subject,
      project_id: project.id,
      scope: scopes.join(' '),
      jti: given.jti ?? (await newTokenId(project.id, subject, 'public_key')),
      iat: seconds(),
      exp,
    })
    const expires_at = formatInstant(exp * 1000).replace('.000Z', 'Z')
    return { token, expires_at, expires_in_seconds: ttl }
  }

  /**
   * Verifies the public key again after the token was issued. Another call may have rotated the key
   * and revoked all tokens just before that. Its revocation does not cover the new token, which has
   * the new watermark.
   */
  const openSession = async (project: Project, subject: string): Promise<IssuedToken> => {
    const issued = await issue(project, subject)
    await getProjectByKey(context, project.public_key)
    return issued
  }

  const sessions: Sessions = {
    async accessToken(publicKey) {
      const project = await getProjectByKey(context, publicKey)
      const { token, expires_in_seconds } = await openSession(project, project.id)
      return { access_token: token, ttl_seconds: expires_in_seconds }
    },

    async init(publicKey, input) {
      const project = await getProjectByKey(context, publicKey)
      const { user_id } = parseSessionRequest(input, publicKey as string)
      const [stores, session] = await Promise.all([
        allStores(project.id),
        openSession(project, user_id),
      ])
      return { project: withoutSecrets(project), session, stores }
    },

    async token(publicKey, input) {
      const project = await getProjectByKey(context, publicKey)
      const { user_id } = parseSessionRequest(input, publicKey as string)
      return openSession(project, user_id)
    },

    async authenticate(token, scope) {
      const claims = token && (await keyring.verify(token, { iss: issuer, now: now() / 1000 }))
      if (!claims) throw tokenRequired()
      const [project, watermark] = await Promise.all([
        storage.findProject(claims.project_id),
        storage.findWatermark(claims.project_id, claims.sub),
      ])
      if (!project) throw tokenRequired()
      const { project_id, sub: user_id, issued_under, issued_by, iat, exp } = claims
      const origin = { project_id, user_id, issued_under, issued_at: iat }
      assertAuthority({ token: origin }, { project_status: project.status, watermark })
      const session = {
        account_id: project.account_id,
        project_id,
        user_id,
        scopes: claims.scopes as readonly Scope[],
        issued_by,
        token_id: claims.jti,
        iat,
        exp,
      }
      if (scope) assertScope(session, scope)
      return session
    },

    isExpired: (session) => isExpired(session, now()),

    async issue(account, input, options) {
      assertAccount(account, 'tokens')
      const {
        project_id,
        user_id = project_id,
        scopes,
        ttl_seconds: ttl,
      } = parseObject(input, newTokenFields)
      const given = scopes.filter((scope) => scope !== 'items:read')
      const needed = ['tokens' as const, ...given.map((scope) => KEY_SCOPE_OF[scope])]
      for (const scope of needed) assertAccount(account, scope)
      const project = await getNamedProject(storage, account, project_id, 'project_id')
      assertActive(project)
      const jti = await newTokenId(project_id, user_id, 'account')
      const issued = await issue(project, user_id, { jti, scopes, ttl })
      const about = { subject: jti, project_id }
      const write = auditedWrite(context, account, 'tokens.issue', about, options)
      await storage.insertAudit({ ...write, authority: authorityOf(account, needed) })
      return issued
    },

    async check(account, input) {
      assertAccount(account, 'tokens')
      const { token } = parseObject(input, tokenCheckFields)
      const session = await sessions.authenticate(token).catch((error: unknown) => {
        if (error instanceof TillError && error.code === 'token_required') return undefined
        throw error
      })
      if (session?.account_id !== account.account_id) return { active: false }
      const { project_id, user_id: sub, scopes, issued_by, iat, exp } = session
      return { active: true, project_id, sub, scope: scopes.join(' '), issued_by, iat, exp }
    },

    async revoke(account, input, options) {
      assertAccount(account, 'tokens')
      // Elsewhere null is a missing field, but here it may be a user whose id the caller did not find.
      if ((input as { readonly user_id?: unknown })?.user_id === null) {
        const reason = 'is null: leave it out to revoke the tokens of all users'
        throw invalidField('user_id', 'invalid', reason)
      }
      const { project_id, user_id = '' } = parseObject(input, revocationFields)
      await getNamedProject(storage, account, project_id, 'project_id')
      const subject = user_id === '' ? project_id : `${project_id}/${user_id}`
      const about = { subject, project_id }
      const write = auditedWrite(context, account, 'tokens.revoke', about, options)
      await storage.revokeTokens({ project_id, user_id, at: seconds() }, write)
    },
  }
  return sessions
}
