import { BoundedMap } from '../lib/bounded-map.ts'
import type { DataVersion, Session } from '../lib/index.ts'
import type { RequestHeaders } from './head.ts'
import { Representation } from './representation.ts'
import type { AnyRoute, Result } from './route.ts'

/** The caller and the answer of a route whose answers may be cached. */
export interface CacheableRead {
  readonly route: AnyRoute
  readonly caller: Session
  readonly answer: Result
}

/** The request line and the headers by which an answer is cached. */
interface ReadRequest {
  readonly headers: RequestHeaders
  readonly url: string | undefined
}

type Done = (isCurrent: boolean) => void

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
export function createRepeatedReads(version: DataVersion) {
  const callers = new BoundedMap<Sized<Session>>(TOKEN_BYTES, sizeOf)
  const answers = new BoundedMap<Sized<CacheableRead>>(ANSWER_BYTES, sizeOf)
  /** The version of the data at which all cached entries are correct. */
  let known = -1
  let batch: { readonly check: Promise<void>; readonly waiting: Done[] } | undefined

  return {
    /** Returns the cached answer to a request. Send it only after a `check`. */
    find({ headers, url }: ReadRequest): CacheableRead | undefined {
      if (known !== version.current()) return undefined
      const { authorization, host } = headers
      if (!authorization || !url || !host) return undefined
      if (headers['idempotency-key'] !== undefined) return undefined
      const caller = callers.get(authorization)?.value
      const read = caller && answers.get(keyOf(caller, url))?.value
      if (!caller || !read || !mayRead(caller, read.route)) return undefined
      return { route: read.route, caller, answer: read.answer }
    },

    /**
     * Calls `done` after a check for changes of the database, with whether the cached answers are
     * still correct. Reads of one turn of the event loop share the check and its callbacks.
     */
    check(done: Done): void {
      const check = version.check()
      if (batch?.check === check) {
        batch.waiting.push(done)
        return
      }
      const waiting = [done]
      batch = { check, waiting }
      const before = known
      const endAll = (isChecked: boolean) => {
        const isCurrent = isChecked && before === version.current()
        for (const end of waiting) end(isCurrent)
      }
      check.then(
        () => endAll(true),
        () => endAll(false),
      )
    },

    /**
     * Returns the function that caches the answer of a request. Call it before the first read,
     * because it notes the current version of the data.
     */
    startRead({ headers: { authorization }, url }: ReadRequest) {
      const before = version.current()
      return (read: CacheableRead): void => {
        const { caller, answer } = read
        if (!authorization || !url || !(answer.body instanceof Representation)) return
        if (before !== version.current()) return
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
  return (scopes as readonly unknown[]).includes(scope)
}
