import type {
  Account,
  KeyedAccount,
  KeyScope,
  Project,
  Scope,
  Session,
  Till,
} from '../lib/index.ts'
import { noBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { networkOf, type RequestHeaders, type Target } from './head.ts'
import { projectFull, type RequestKind, RequestLimit, type Reservation } from './in-flight.ts'
import type { ServerContext } from './server-context.ts'

/** The facts of a route that decide whom it admits. */
export interface AdmissionRule<Caller> {
  readonly credential: Credential<Caller>
  readonly readBody: unknown
  /** Selects the concurrency limit of the route. */
  readonly kind: RequestKind | ((query: Target['query']) => RequestKind)
}

export function createAdmission(till: Till, context: ServerContext) {
  const { concurrency, memory, keyLimit, addressLimit, changeLimit, hostAccount, limits } = context
  const { uploadsOfProject } = limits
  const uploads = new RequestLimit(Infinity, uploadsOfProject, projectFull, projectFull)

  /** Consumes from the rate limit of the client's address. */
  const consumeByAddress = ({ client, answer }: Exchange) => {
    addressLimit?.consume(networkOf(client), answer)
  }

  /** Notes the account and project of a verified caller, and consumes from its rate limit. */
  const identify = (exchange: Exchange, credential: Credential<unknown>, caller: unknown) => {
    const { client, answer } = exchange
    const { account_id } = caller as Account | Project | Session
    exchange.account_id = account_id
    exchange.project_id = credential.projectOf?.(caller)
    if (keyLimit && credential.bucketOf) {
      keyLimit.consume(credential.bucketOf(caller, networkOf(client)), answer)
    }
    return account_id
  }

  return {
    /**
     * Verifies the credential of a request, and counts the request in all limits until `release`.
     * Throws 401, 429 or 503.
     */
    async admit(exchange: Exchange, route: AdmissionRule<unknown>) {
      const { credential, readBody } = route
      if (!credential.isProbe) consumeByAddress(exchange)
      if (!credential.bucketOf)
        return { caller: undefined, memory: noMemory, refund: ignore, release: ignore }
      const kind = typeof route.kind === 'function' ? route.kind(exchange.target.query) : route.kind
      const limit = concurrency[kind]
      // Counts the request by its address until the credential identifies the caller.
      const address = networkOf(exchange.client)
      limit.assertRoom() // throws early: verifying a credential is expensive
      concurrency.verifications.acquire(address)
      let caller: unknown
      try {
        const ask = hostAccount && (() => hostAccount(exchange))
        caller = await exchange.together(() => credential.verify(till, exchange.headers, ask))
      } finally {
        concurrency.verifications.release(address)
      }
      const account = identify(exchange, credential, caller)
      const changed = credential.changedProjectOf?.(caller)
      if (changed !== undefined) changeLimit.consume(changed, exchange.answer)
      const uploader = kind === 'uploads' ? exchange.project_id : undefined
      if (uploader && !uploads.hasRoom(uploader)) throw limit.refuse(projectFull)
      limit.acquire(account)
      if (uploader) uploads.acquire(uploader)
      const reservation = readBody === noBody ? noMemory : memory.createReservation(account)
      return {
        caller,
        memory: reservation,
        /** A request that has failed has changed nothing. */
        refund() {
          if (changed !== undefined) changeLimit.refund(changed)
        },
        release() {
          reservation.release()
          limit.release(account)
          if (uploader) uploads.release(uploader)
        },
      }
    },

    /** Consumes from the rate limits for a read whose answer is cached. */
    admitCached(exchange: Exchange, credential: Credential<unknown>, caller: Session) {
      consumeByAddress(exchange)
      identify(exchange, credential, caller)
    },

    consumeByAddress,
  }
}

function ignore(): void {}

/** A memory reservation without effect, for routes that read no body. */
const noMemory: Reservation = { account: '', reserve: ignore, release: ignore }

/** The kind of credential that a route requires. */
export interface Credential<Caller> {
  /** Verifies the credential before the body is read. Returns the caller. */
  readonly verify: (
    till: Till,
    headers: RequestHeaders,
    hostAccount?: () => Promise<Account>,
  ) => Promise<Caller>
  /**
   * Verifies the credential again after a request has failed. Missing if `verify` never uses an
   * outdated cache.
   */
  readonly confirm?: (till: Till, headers: RequestHeaders) => Promise<unknown>
  /** The security scheme in the OpenAPI document; missing if the route needs no credential. */
  readonly scheme?: 'publicKey' | 'accountKey' | 'token'
  /** The scope that a token or an account key needs. */
  readonly scope?: Scope | KeyScope | undefined
  /** The key of the caller's rate-limit bucket. Routes without it have no limits. */
  bucketOf?(caller: Caller, address: string): string
  /**
   * The project whose share of the import limit the request uses. Missing for a credential that
   * covers several projects.
   */
  projectOf?(caller: Caller): string
  /** The project whose limit of changes a caller uses, if anyone may get its credential. */
  changedProjectOf?(caller: Caller): string | undefined
  /** Whether the operator's own programs call the route. No rate limit applies to it. */
  readonly isProbe?: true
  /** Whether a browser may hold this credential. CORS is enabled only for such routes. */
  readonly isForBrowsers: boolean
}

/** No credential, for public documents such as `/openapi.json`. */
export const anyone: Credential<undefined> = { verify: async () => undefined, isForBrowsers: false }

/** No credential, for the operator's probes such as `/healthz`. */
export const probe: Credential<undefined> = { ...anyone, isProbe: true }

/**
 * A project's public key. All its clients share the key, so each address has its own bucket. In one
 * common bucket, a single client could lock out all others.
 */
export const publicKey: Credential<Project> = {
  scheme: 'publicKey',
  verify: (till, headers) =>
    till.projects.authenticate(headers['x-public-project-key'] ?? undefined),
  bucketOf: ({ public_key }, address) => `${public_key} ${address}`,
  projectOf: ({ id }) => id,
  isForBrowsers: true,
}

/**
 * An account key, or an account that the embedding application has authenticated. All keys of an
 * account share one bucket. `verify` may use an outdated cache: all routes of this credential are
 * writes, and their transaction verifies the key again.
 */
export function accountKey(scope: KeyScope): Credential<Account> {
  return {
    ...keyOnly(scope),
    verify: (till, { 'x-account-key': account_key }, hostAccount) =>
      account_key === undefined && hostAccount
        ? hostAccount()
        : till.accounts.authenticate(account_key ?? undefined, { isForWrite: true, scope }),
    confirm: async (till, { 'x-account-key': account_key }) =>
      account_key === undefined || till.accounts.authenticate(account_key ?? undefined),
  }
}

/**
 * An account key. Unlike `accountKey`, refuses an account that the embedding application has
 * authenticated: the application may use cookies, which browsers also send for other sites. Without
 * a scope, any key may call the route.
 */
export function keyOnly(scope: KeyScope | undefined): Credential<KeyedAccount> {
  return {
    scheme: 'accountKey',
    scope,
    verify: (till, { 'x-account-key': account_key }) =>
      till.accounts.authenticate(account_key ?? undefined, { scope }),
    bucketOf: ({ account_id }) => account_id,
    isForBrowsers: false,
  }
}

/**
 * A bearer token. All tokens that the account issued to one user share a bucket. Other tokens are
 * counted by address: their client chose the user id itself, and could lock out the real user.
 */
export function bearer(scope: Scope): Credential<Session> {
  return {
    scheme: 'token',
    scope,
    verify: (till, headers) => till.sessions.authenticate(tokenOf(headers), scope),
    bucketOf: ({ project_id, user_id, issued_by }, address) =>
      issued_by === 'account' ? `${project_id}/${user_id}` : `${project_id} ${address}`,
    projectOf: ({ project_id }) => project_id,
    changedProjectOf: ({ project_id, issued_by }) =>
      scope === 'projects:write' && issued_by !== 'account' ? project_id : undefined,
    isForBrowsers: true,
  }
}

// `Bearer` is case-insensitive (RFC 9110 section 11.1). The library verifies the token.
function tokenOf({ authorization }: RequestHeaders): string | undefined {
  if (!authorization) return undefined
  // Handles most tokens without the regular expression, which takes ten times as long as `slice`.
  if (authorization.startsWith('Bearer e')) return authorization.slice(7)
  return /^Bearer +(.+)$/i.exec(authorization)?.[1]
}
