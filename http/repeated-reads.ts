import { BoundedMap } from '../lib/bounded-map.ts'
import type { Revision, Session, Together } from '../lib/index.ts'
import type { NodeExchange } from './node-exchange.ts'
import { Representation } from './representation.ts'
import type { AnyRoute, Result } from './route.ts'

/** The caller and the answer of a route whose answers may be cached. */
export interface CacheableRead {
  readonly route: AnyRoute
  readonly caller: Session
  readonly answer: Result
}

/** A request whose answer is cached. */
export interface RepeatedRead extends CacheableRead {
  readonly exchange: NodeExchange
  /** The function that `Till.together` returned for this request. */
  readonly together: Together
  /** The revision of the data at which the answer is correct. */
  readonly revision: number
}

type Send = (read: RepeatedRead, isCurrent: boolean) => void

/** The maximum bytes of the token cache and of the answer cache, with their keys. */
const TOKEN_BYTES = 8 * 2 ** 20
const ANSWER_BYTES = 16 * 2 ** 20

/** The estimated overhead of an entry in bytes, without its text. */
const ENTRY_BYTES = 512

/**
 * Answers a read in one step when a request with the same target and the same token was answered
 * before. The steps of a first read cost 9 µs in promises and garbage (bench/read). Any change of
 * the database or of the signing keys empties the caches. When a read arrives, the server checks
 * for changes and answers after that check, so no answer is outdated.
 */
export function createRepeatedReads(revision: Revision) {
  const callers = new BoundedMap<Sized<Session>>(TOKEN_BYTES, sizeOf)
  const answers = new BoundedMap<Sized<CacheableRead>>(ANSWER_BYTES, sizeOf)
  /** The revision of the data at which all cached entries are correct. */
  let known = -1
  let batch: { readonly check: Promise<void>; readonly reads: RepeatedRead[] } | undefined

  return {
    find(exchange: NodeExchange, together: Together): RepeatedRead | undefined {
      if (known !== revision.current()) return undefined
      const { headers, url } = exchange
      const { authorization, host } = headers
      if (!authorization || !url || !host) return undefined
      if (headers['idempotency-key'] !== undefined) return undefined
      const caller = callers.get(authorization)?.value
      if (!caller) return undefined
      const read = answers.get(keyOf(caller, url))?.value
      if (!read || !mayRead(caller, read.route)) return undefined
      const { route, answer } = read
      return { exchange, together, route, caller, answer, revision: known }
    },

    /**
     * Checks whether the cached data is current, then calls `send`. Reads of one turn of the event
     * loop share the check. `isCurrent` is false when something has changed, or when the check
     * failed.
     */
    check(read: RepeatedRead, send: Send): void {
      const check = revision.check()
      if (batch?.check === check) {
        batch.reads.push(read)
        return
      }
      const reads = [read]
      batch = { check, reads }
      const sendAll = (isChecked: boolean) => {
        for (const each of reads) send(each, isChecked && each.revision === revision.current())
      }
      check.then(
        () => sendAll(true),
        () => sendAll(false),
      )
    },

    /**
     * Returns the function that caches the answer of a request. Call `recorder` before the first
     * read, because it notes the current revision of the data.
     */
    recorder({ headers: { authorization }, url }: NodeExchange) {
      const before = revision.current()
      return (read: CacheableRead): void => {
        const { caller, answer } = read
        if (!authorization || !url || !(answer.body instanceof Representation)) return
        if (before !== revision.current()) return
        if (known !== before) {
          callers.clear()
          answers.clear()
          known = before
        }
        const key = keyOf(caller, url)
        callers.set(authorization, { value: caller, size: ENTRY_BYTES + authorization.length })
        const size = ENTRY_BYTES + key.length + answer.body.length
        answers.set(key, { value: read, size })
      }
    },
  }
}

interface Sized<V> {
  readonly value: V
  readonly size: number
}

function sizeOf({ size }: Sized<unknown>): number {
  return size
}

/** The cache key of an answer. Cached routes give all sessions of a project the same answers. */
function keyOf({ project_id }: Session, url: string): string {
  return `${project_id} ${url}`
}

function mayRead({ scopes }: Session, { credential: { scope } }: AnyRoute): boolean {
  return scope === undefined || scopes.includes(scope)
}
