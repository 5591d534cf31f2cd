import type { CallOptions } from './options.ts'
import { untilAborted } from './transport.ts'
import type { Session as Issued } from './types.ts'

export type Grant = Pick<Issued, 'token' | 'expires_in_seconds'>

/** Milliseconds from a renewal to the expiry; at most a tenth of the lifetime. */
const MARGIN = 60_000

/**
 * Creates the session whose token the calls of a client share. It calls `open` for its first token
 * and for each renewal. The lifetime of a token counts from its request, so the clock of the server
 * does not matter.
 */
export function createSession(open: () => Promise<Grant>) {
  let current: { readonly token: string; readonly renewAt: number } | undefined
  let pending: Promise<string> | undefined

  /** Keeps a token that was requested at this time. */
  const adopt = ({ token, expires_in_seconds }: Grant, requested: number) => {
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
    /** A token that has not expired. Calls at the same time share one renewal. */
    async get({ signal }: CallOptions): Promise<string> {
      if (current && Date.now() < current.renewAt) return current.token
      pending ??= renew()
      return untilAborted(pending, signal)
    },
    adopt,
    /** Forgets a token that the server refused. */
    drop(token: string) {
      if (current?.token === token) current = undefined
    },
  }
}
