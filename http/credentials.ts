import type { IncomingMessage } from 'node:http'
import type { Account, Scope, Session, Till } from '../lib/index.ts'

/** Judges a request's credential, before its body is read, and says who is calling. */
export type Credential<Who> = (till: Till, request: IncomingMessage) => Promise<Who>

export const anyone: Credential<undefined> = async () => undefined

/** The key itself, which opens sessions. */
export const publicKey: Credential<string> = async (till, request) => {
  const project = await till.projects.authenticate(singleHeader(request, 'x-public-project-key'))
  return project.public_key
}

export const accountKey: Credential<Account> = (till, request) =>
  till.accounts.authenticate(singleHeader(request, 'x-account-key'))

export function bearer(scope: Scope): Credential<Session> {
  return (till, request) => till.sessions.authenticate(bearerToken(request), scope)
}

// RFC 9110 section 11.1: the scheme is case-insensitive.
function bearerToken(request: IncomingMessage): string | undefined {
  return /^Bearer +([^\s,]+)$/i.exec(singleHeader(request, 'authorization') ?? '')?.[1]
}

// Node joins repeated headers with a comma, or drops all but the first: a proxy in front may have
// judged the other one. A repeated credential is none.
function singleHeader(request: IncomingMessage, name: string): string | undefined {
  const { rawHeaders } = request
  let found: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== name) continue
    if (found !== undefined) return undefined
    found = rawHeaders[i + 1]
  }
  return found
}
