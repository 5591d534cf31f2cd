import type { Till, Together } from '../lib/index.ts'
import { networkOf } from './address.ts'
import { noBody } from './body.ts'
import { acquire, assertRoom, release, tryAcquire } from './concurrency.ts'
import type { Exchange } from './exchange.ts'
import type { Reservation } from './memory-budget.ts'
import { consume } from './rate-limit.ts'
import type { CacheableRead } from './repeated-reads.ts'
import type { AnyRoute } from './route.ts'
import type { ServerContext } from './server-context.ts'

export function createAdmission(till: Till, context: ServerContext) {
  const { concurrency, memory, keyLimit, addressLimit, hostAccount } = context

  /** Consumes from the rate limit of the client's address. */
  const consumeByAddress = ({ client, answer }: Exchange) => {
    if (addressLimit) consume(addressLimit, networkOf(client), answer)
  }

  const consumeByCaller = (
    exchange: Exchange,
    { limitedBy }: AnyRoute['credential'],
    caller: unknown,
  ) => {
    if (!keyLimit || !limitedBy) return
    consume(keyLimit, limitedBy.bucketOf(caller, networkOf(exchange.client)), exchange.answer)
  }

  return {
    /**
     * Verifies the credential of a request, and counts the request in all limits until `release`.
     * Throws 401, 429 or 503. `together` runs the library calls.
     */
    async admit(exchange: Exchange, route: AnyRoute, together: Together) {
      const { credential, readBody } = route
      const { limitedBy } = credential
      if (!credential.isProbe) consumeByAddress(exchange)
      if (!limitedBy) return { caller: undefined, memory: noMemory, release: ignore }
      const kind = typeof route.kind === 'function' ? route.kind(exchange.target.query) : route.kind
      const limit = concurrency[kind]
      // Counts the request by its address until the credential identifies the caller.
      const address = networkOf(exchange.client)
      assertRoom(limit) // throws early: verifying a credential is expensive
      acquire(concurrency.verifications, address)
      let caller: unknown
      try {
        const ask = hostAccount && (() => hostAccount(exchange))
        caller = await together(() => credential.verify(till, exchange.headers, ask))
      } finally {
        release(concurrency.verifications, address)
      }
      const account = limitedBy.accountOf(caller)
      const project = limitedBy.projectOf?.(caller)
      exchange.account_id = account
      exchange.project_id = project
      consumeByCaller(exchange, credential, caller)
      acquire(limit, account, project)
      const reservation = readBody === noBody ? noMemory : memory.createReservation(account)
      return {
        caller,
        memory: reservation,
        release() {
          reservation.release()
          release(limit, account, project)
        },
      }
    },

    /** Consumes from the rate limits for a read whose answer is cached. */
    admitRepeated(exchange: Exchange, { route, caller }: CacheableRead) {
      consumeByAddress(exchange)
      exchange.account_id = caller.account_id
      exchange.project_id = caller.project_id
      consumeByCaller(exchange, route.credential, caller)
    },

    consumeByAddress,
    /**
     * Counts a read in the concurrency limit while the server checks whether its cached answer is
     * current. Returns false if the limit is reached.
     */
    acquireRead: ({ caller }: CacheableRead) => tryAcquire(concurrency.reads, caller.account_id),
    releaseRead: ({ caller }: CacheableRead) => release(concurrency.reads, caller.account_id),
  }
}

function ignore(): void {}

/** A memory reservation without effect, for routes that read no body. */
const noMemory: Reservation = { account: '', reserve: ignore, release: ignore }
