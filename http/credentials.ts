import type { Account, Project, Scope, Session, Till } from '../lib/index.ts'
import type { RequestHeaders } from './headers.ts'

/** The kind of credential that a route requires. */
export interface Credential<Caller> {
  /** Verifies the credential before the body is read, and returns the caller. */
  readonly verify: (till: Till, headers: RequestHeaders) => Promise<Caller>
  /** Undefined for routes without rate and concurrency limits. */
  readonly limitedBy?: LimitedBy<Caller>
  /** Whether a browser may hold this credential. CORS opens only such routes. */
  readonly isForBrowsers: boolean
}

/** The keys by which limits count a caller. */
export interface LimitedBy<Caller> {
  /** The key of the rate limit. */
  bucketOf(caller: Caller, address: string): string
  /** The account whose share of the concurrency limits the request uses. */
  accountOf(caller: Caller): string
  /** The project whose imports are limited; missing when the credential is for many projects. */
  projectOf?(caller: Caller): string
}

/** For the operator's routes, such as `/healthz`. */
export const anyone: Credential<undefined> = { verify: async () => undefined, isForBrowsers: false }

/**
 * All clients of a project share its public key, so each address has its own bucket. In a common
 * bucket one client could lock out all others.
 */
export const publicKey: Credential<Project> = {
  verify: (till, headers) => till.projects.authenticate(headers.public_key ?? undefined),
  limitedBy: {
    bucketOf: ({ public_key }, address) => `${public_key} ${address}`,
    accountOf: ({ account_id }) => account_id,
    projectOf: ({ id }) => id,
  },
  isForBrowsers: true,
}

/** All keys of an account share one bucket. */
export const accountKey: Credential<Account> = {
  verify: (till, headers) => till.accounts.authenticate(headers.account_key ?? undefined),
  limitedBy: {
    bucketOf: ({ account_id }) => account_id,
    accountOf: ({ account_id }) => account_id,
  },
  isForBrowsers: false,
}

/**
 * All tokens that the account issued to a user share one bucket. Other tokens are counted by
 * address: a client with the public key chose their user id, and could lock out the real user.
 */
export function bearer(scope: Scope): Credential<Session> {
  return {
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

// RFC 9110 section 11.1: the scheme is case-insensitive. The library verifies the token.
function tokenOf({ authorization }: RequestHeaders): string | undefined {
  if (!authorization) return undefined
  // Most tokens: ten times as fast as the pattern.
  if (authorization.startsWith('Bearer e')) return authorization.slice(7)
  return /^Bearer +(.+)$/i.exec(authorization)?.[1]
}
