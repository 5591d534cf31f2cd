import type { Account, Project, Scope, Session, Till } from '../lib/index.ts'
import type { SentHeaders } from './headers.ts'

/** What a route asks of its caller. */
export interface Credential<Who> {
  /** Verifies it, before the body is read, and says who is calling. */
  readonly verify: (till: Till, sent: SentHeaders) => Promise<Who>
  /** Undefined for routes that are never limited or refused for load. */
  readonly limitedBy?: LimitedBy<Who>
  /** Whether it may be in a browser, to which CORS then opens the route. */
  readonly isForBrowsers: boolean
}

/** The keys under which limits count a caller. */
export interface LimitedBy<Who> {
  /** The bucket of the rate limit. */
  bucketOf(who: Who, address: string): string
  /** The account whose share of the requests in flight it uses. */
  accountOf(who: Who): string
  /** The project that it is for, whose imports are counted; undefined when it is for no single one. */
  projectOf?(who: Who): string
}

/** For the operator's own routes. */
export const anyone: Credential<undefined> = { verify: async () => undefined, isForBrowsers: false }

/**
 * The key itself, which opens sessions. All clients of a project have it: in one bucket any of them
 * could lock out the others, so each address has its own.
 */
export const publicKey: Credential<Project> = {
  verify: (till, sent) => till.projects.authenticate(sent.public_key ?? undefined),
  limitedBy: {
    bucketOf: ({ public_key }, address) => `${public_key} ${address}`,
    accountOf: ({ account_id }) => account_id,
    projectOf: ({ id }) => id,
  },
  isForBrowsers: true,
}

/** All keys of an account have one bucket. */
export const accountKey: Credential<Account> = {
  verify: (till, sent) => till.accounts.authenticate(sent.account_key ?? undefined),
  limitedBy: {
    bucketOf: ({ account_id }) => account_id,
    accountOf: ({ account_id }) => account_id,
  },
  isForBrowsers: false,
}

/**
 * All tokens that the account issued to a user have one bucket. The user of any other token was
 * chosen by a client with the public key: in one bucket any of them could lock out that user, so
 * these are counted by address.
 */
export function bearer(scope: Scope): Credential<Session> {
  return {
    verify: (till, sent) => till.sessions.authenticate(tokenOf(sent), scope),
    limitedBy: {
      bucketOf: ({ project_id, user_id, issued_by }, address) =>
        issued_by === 'account' ? `${project_id}/${user_id}` : `${project_id} ${address}`,
      accountOf: ({ account_id }) => account_id,
      projectOf: ({ project_id }) => project_id,
    },
    isForBrowsers: true,
  }
}

// RFC 9110 section 11.1: the scheme is case-insensitive. What is no token is the library's to
// refuse.
function tokenOf({ authorization }: SentHeaders): string | undefined {
  if (!authorization) return undefined
  if (authorization.startsWith('Bearer e')) return authorization.slice(7)
  return /^Bearer +(.+)$/i.exec(authorization)?.[1]
}
