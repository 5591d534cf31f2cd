import type { Account } from '../domain/account.ts'
import { formatInstant } from '../domain/instant.ts'
import { type Project, withoutProjectSecrets } from '../domain/project.ts'
import {
  type NewToken,
  parseNewToken,
  parseSessionRequest,
  parseTokenRevocation,
  SCOPES,
  type Scope,
  type Session,
  type SessionRequest,
  type TokenRevocation,
} from '../domain/session.ts'
import { isActive } from '../domain/status.ts'
import { type Store, withoutStoreSecrets } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import type { Claims } from '../token/claims.ts'
import {
  assertAccount,
  assertActive,
  assertScope,
  getNamedProject,
  getProjectByKey,
} from './access.ts'
import type { Context } from './context.ts'
import { boundInTokenId, createTokenId } from './ids.ts'
import { type CallOptions, trailOf } from './trail.ts'

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
 * In lockdown their tokens carry the scope `items:read` alone.
 */
export interface Sessions {
  /** Endpoint 1: a token whose subject is the project itself. */
  accessToken(
    publicKey: string | undefined,
  ): Promise<{ readonly access_token: string; readonly ttl_seconds: number }>
  /** Endpoint 2. */
  init(publicKey: string | undefined, input: SessionRequest): Promise<InitializedSession>
  /** Endpoint 3. */
  token(publicKey: string | undefined, input: SessionRequest): Promise<IssuedToken>
  /**
   * The session of a bearer token; `token_required` whatever is wrong with it, `insufficient_scope`
   * when it is valid and does not carry `scope`.
   */
  authenticate(token: string | undefined, scope?: Scope): Promise<Session>
  /** A token that the account itself gives out: any scopes, also in lockdown; see `NewToken`. */
  issue(account: Account, input: NewToken, options?: CallOptions): Promise<IssuedToken>
  /**
   * Ends all tokens of a project, or of one of its users, that were issued up to now: at once, for
   * every process on the same storage, whatever its clock says.
   */
  revoke(account: Account, input: TokenRevocation, options?: CallOptions): Promise<void>
}

const LOCKED_DOWN: readonly Scope[] = ['items:read']

export function createSessions(context: Context): Sessions {
  const { storage, now, keyring, issuer, lockdown } = context
  const publicScopes = lockdown ? LOCKED_DOWN : SCOPES
  const seconds = () => Math.floor(now() / 1000)

  /** The latest bound of those that a revocation covers. */
  const latestBound = async (project_id: string, user_id: string): Promise<number> => {
    if (user_id !== '') return storage.findTokenBound(project_id, user_id)
    const bounds = await storage.listTokenBounds(project_id)
    return bounds.reduce((latest, { not_after }) => Math.max(latest, not_after), 0)
  }

  const newTokenId = async (project_id: string, user_id: string): Promise<string> =>
    createTokenId(await storage.findTokenBound(project_id, user_id))

  const issue = async (
    project: Project,
    subject: string,
    given: { jti?: string; scopes?: readonly Scope[]; lifetime?: number | undefined } = {},
  ): Promise<IssuedToken> => {
    const { scopes = publicScopes, lifetime = context.tokenLifetime } = given
    const exp = seconds() + lifetime
    const token = await keyring.sign({
      iss: issuer,
      sub: subject,
      project_id: project.id,
      scope: scopes.join(' '),
      jti: given.jti ?? (await newTokenId(project.id, subject)),
      iat: seconds(),
      exp,
    })
    const expires_at = formatInstant(exp * 1000).replace('.000Z', 'Z')
    return { token, expires_at, expires_in_seconds: lifetime }
  }

  return {
    async accessToken(publicKey) {
      const project = await getProjectByKey(context, publicKey)
      const { token, expires_in_seconds } = await issue(project, project.id)
      return { access_token: token, ttl_seconds: expires_in_seconds }
    },

    async init(publicKey, input) {
      const project = await getProjectByKey(context, publicKey)
      const { user_id } = parseSessionRequest(input, publicKey as string)
      const [stores, session] = await Promise.all([
        storage.listStores(project.id),
        issue(project, user_id),
      ])
      const shown = stores.filter(isActive).map(withoutStoreSecrets)
      return { project: withoutProjectSecrets(project), session, stores: shown }
    },

    async token(publicKey, input) {
      const project = await getProjectByKey(context, publicKey)
      const { user_id } = parseSessionRequest(input, publicKey as string)
      return issue(project, user_id)
    },

    async authenticate(token, scope) {
      const claims = token && (await keyring.verify(token, { iss: issuer, now: now() / 1000 }))
      if (!claims) throw invalidToken()
      const [project, bound] = await Promise.all([
        storage.findProject(claims.project_id),
        storage.findTokenBound(claims.project_id, claims.sub),
      ])
      if (!project || !isActive(project) || isRevoked(claims, bound)) throw invalidToken()
      const session = {
        account_id: project.account_id,
        project_id: project.id,
        user_id: claims.sub,
        scopes: scopesOf(claims),
        token_id: claims.jti,
      }
      if (scope) assertScope(session, scope)
      return session
    },

    async issue(account, input, options) {
      assertAccount(account)
      const { project_id, user_id = project_id, scopes = SCOPES, lifetime } = parseNewToken(input)
      const project = await getNamedProject(storage, account, project_id, 'project_id')
      assertActive(project)
      const jti = await newTokenId(project_id, user_id)
      const issued = await issue(project, user_id, { jti, scopes, lifetime })
      await storage.insertTrail(trailOf(context, account, 'tokens.issue', jti, options))
      return issued
    },

    async revoke(account, input, options) {
      assertAccount(account)
      const { project_id, user_id = '' } = parseTokenRevocation(input)
      await getNamedProject(storage, account, project_id, 'project_id')
      const subject = user_id === '' ? project_id : `${project_id}/${user_id}`
      const latest = await latestBound(project_id, user_id)
      const not_after = Math.max(seconds(), latest + 1)
      const bound = { project_id, user_id, not_after }
      const trail = trailOf(context, account, 'tokens.revoke', subject, options)
      await storage.insertTokenBound(bound, trail)
    },
  }
}

/**
 * A token tells under which bound it was issued, so that no clock has a say: none that went back,
 * and none of another machine. Of what another tool has signed, all but what is later is revoked.
 */
function isRevoked({ jti, iat }: Claims, bound: number): boolean {
  const issuedUnder = boundInTokenId(jti)
  return issuedUnder === undefined ? iat <= bound : issuedUnder < bound
}

function invalidToken(): TillError {
  return new TillError('token_required', 'The bearer token is missing, invalid or expired')
}

const scopes = new WeakMap<Claims, readonly Scope[]>()

/** Split once for a token that comes again: its claims are the same object then. */
function scopesOf(claims: Claims): readonly Scope[] {
  const known = scopes.get(claims)
  if (known) return known
  const split = claims.scope.split(' ') as Scope[]
  scopes.set(claims, split)
  return split
}
