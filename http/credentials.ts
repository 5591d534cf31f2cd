import type { Account, Scope, Session, Till } from '../lib/index.ts'
import type { SentHeaders } from './headers.ts'

/** What a route asks of its caller. */
export interface Credential<Who> {
  /** Judges it, before the body is read, and says who is calling. */
  readonly judge: (till: Till, sent: SentHeaders) => Promise<Who>
  /** Who shares one rate limit; undefined for routes that are never limited or refused for load. */
  readonly bucketOf?: (who: Who, address: string) => string
  /** The project whose uploads it brings. */
  readonly projectOf?: (who: Who) => string
  /** Whether it may be in a browser, to which CORS then opens the route. */
  readonly isForBrowsers: boolean
}

/** For the operator's own routes. */
export const anyone: Credential<undefined> = { judge: async () => undefined, isForBrowsers: false }

/**
 * The key itself, which opens sessions. All clients of a project have it: counted as one, any of
 * them could lock out the others, so each address is counted for itself.
 */
export const publicKey: Credential<string> = {
  judge: async (till, sent) => {
    const key = sent.public_key ?? undefined
    await till.projects.authenticate(key)
    return key as string
  },
  bucketOf: (key, address) => `${key} ${address}`,
  isForBrowsers: true,
}

/** All keys of an account are counted as one. */
export const accountKey: Credential<Account> = {
  judge: (till, sent) => till.accounts.authenticate(sent.account_key ?? undefined),
  bucketOf: ({ account_id }) => account_id,
  isForBrowsers: false,
}

/**
 * All tokens of a project's user are counted as one: a client gets as many as it likes. Endpoint
 * 1's have the project as their user and may be with many clients, as the public key is.
 */
export function bearer(scope: Scope): Credential<Session> {
  return {
    judge: (till, sent) => till.sessions.authenticate(tokenOf(sent), scope),
    bucketOf: ({ project_id, user_id }, address) =>
      user_id === project_id ? `${project_id} ${address}` : `${project_id}/${user_id}`,
    projectOf: ({ project_id }) => project_id,
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
