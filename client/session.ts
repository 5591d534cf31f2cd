import type { CallOptions } from './options.ts'
import { untilAborted } from './transport.ts'
import type { Session as Issued } from './types.ts'

export type Grant = Pick<Issued, 'token' | 'expires_in_seconds'>

/** The token that the calls of a client share. */
export interface Session {
  /** A token that has not expired. Calls at the same time share one renewal. */
  get(options: CallOptions): Promise<string>
  /** Keeps a token that was requested at this time. */
  adopt(grant: Grant, requested: number): void
  /** Forgets a token that the server refused. */
  drop(token: string): void
}

/** Milliseconds from a renewal to the expiry; at most a tenth of the lifetime. */
const MARGIN = 60_000

/**
 * Creates a session, which calls `open` for its first token and for each renewal. The lifetime of a
 * token counts from its request, so the clock of the server does not matter.
 */
export function createSession(open: () => Promise<Grant>): Session {
  let current: { readonly token: string; readonly renewAt: number } | undefined
  let pending: Promise<string> | undefined

  const adopt: Session['adopt'] = ({ token, expires_in_seconds }, requested) => {
    const life = expires_in_seconds * 1000
    current = { token, renewAt: requested + life - Math.min(MARGIN, life / 10) }
  }

  // Takes no signal: another call may need the token after this one was aborted.
  const renew = async (): Promise<string> => {
    const requested = Date.now()
    try {
      const grant = await open()
      adopt(grant, requested)
      return grant.token
    } finally {
      pending = undefined
    }
  }

  return {
    async get({ signal }) {
      if (current && Date.now() < current.renewAt) return current.token
      pending ??= renew()
      return untilAborted(pending, signal)
    },
    adopt,
    drop(token) {
      if (current?.token === token) current = undefined
    },
  }
}
