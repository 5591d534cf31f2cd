import type { Account, Project, Scope, Session, Till } from '../lib/index.ts'
import type { RequestHeaders } from './headers.ts'

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
  /** The scope that a token needs. */
  readonly scope?: Scope
  /** How rate limits and concurrency limits count a caller; missing for routes without limits. */
  readonly limitedBy?: LimitedBy<Caller>
  /** Whether the operator's own programs call the route. No rate limit applies to it. */
  readonly isProbe?: true
  /** Whether a browser may hold this credential. CORS is enabled only for such routes. */
  readonly isForBrowsers: boolean
}

/** The keys under which rate limits and concurrency limits count a caller. */
export interface LimitedBy<Caller> {
  /** The key of the caller's rate-limit bucket. */
  bucketOf(caller: Caller, address: string): string
  /** The account whose share of the concurrency limits the request uses. */
  accountOf(caller: Caller): string
  /**
   * The project whose share of the import limit the request uses. Missing for a credential that
   * covers several projects.
   */
  projectOf?(caller: Caller): string
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
  limitedBy: {
    bucketOf: ({ public_key }, address) => `${public_key} ${address}`,
    accountOf: ({ account_id }) => account_id,
    projectOf: ({ id }) => id,
  },
  isForBrowsers: true,
}

/**
 * An account key, or an account that the embedding application has authenticated. All keys of an
 * account share one bucket. `verify` may use an outdated cache: all routes of this credential are
 * writes, and their transaction verifies the key again.
 */
export const accountKey: Credential<Account> = {
  scheme: 'accountKey',
  verify: (till, { 'x-account-key': account_key }, hostAccount) =>
    account_key === undefined && hostAccount
      ? hostAccount()
      : till.accounts.authenticate(account_key ?? undefined, { isForWrite: true }),
  confirm: async (till, { 'x-account-key': account_key }) =>
    account_key === undefined || till.accounts.authenticate(account_key ?? undefined),
  limitedBy: {
    bucketOf: ({ account_id }) => account_id,
    accountOf: ({ account_id }) => account_id,
  },
  isForBrowsers: false,
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
    limitedBy: {
      bucketOf: ({ project_id, user_id, issued_by }, address) =>
        issued_by === 'account' ? `${project_id}/${user_id}` : `${project_id} ${address}`,
      accountOf: ({ account_id }) => account_id,
      projectOf: ({ project_id }) => project_id,
    },
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
