import type { Account, Project, Session, Till } from '../lib/index.ts'
import { noBody } from './body.ts'
import type { Credential } from './credentials.ts'
import type { Exchange } from './exchange.ts'
import { networkOf, type Target } from './head.ts'
import { projectFull, type RequestKind, RequestLimit, type Reservation } from './in-flight.ts'
import type { ServerContext } from './server-context.ts'

/** The facts of a route that decide whom it admits. */
export interface AdmissionRule<Caller> {
  readonly credential: Credential<Caller>
  readonly readBody: unknown
  /** Selects the concurrency limit of the route. */
  readonly kind: RequestKind | ((query: Target['query']) => RequestKind)
}

/**
 * Creates the function that admits requests: rate limits, concurrency limits, then the credential.
 */
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
