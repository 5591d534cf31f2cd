import { lookup, Resolver } from 'node:dns/promises'
import { BoundedMap } from '../../lib/bounded-map.ts'

/** Resolves a host name to IP addresses. Rejects when it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/**
 * Resolves names with c-ares. `dns.lookup` would occupy a thread that files and compression need
 * too, so a few slow name servers would block the whole process. With `useSystem`, names that DNS
 * does not know are looked up in the hosts file and in search domains, one at a time. `servers`
 * replaces the name servers of the system, for tests.
 */
export function createResolver(useSystem: boolean, servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (servers) resolver.setServers(servers)
  let previous: Promise<unknown> = Promise.resolve()
  const askSystem = (hostname: string) => {
    const found = previous.then(() => lookup(hostname, { all: true }))
    previous = found.catch(() => {})
    return found.then((all) => all.map(({ address }) => address))
  }
  return async (hostname) => {
    if (/(^|\.)localhost\.?$/.test(hostname)) return ['127.0.0.1', '::1'] // loopback: RFC 6761
    const answers = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ])
    const addresses = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    if (addresses.length > 0) return addresses
    if (useSystem) return askSystem(hostname)
    throw answers.map((each) => (each.status === 'rejected' ? each.reason : undefined))[0]
  }
}

/** Milliseconds for which an answer is cached, and for which a failure is cached. */
const FOUND_MS = 30_000
const FAILED_MS = 5_000
const MAX_ANSWERS = 10_000

/** Caches the answers of a function, failures too. Simultaneous calls share one answer. */
export function cacheAnswers<T>(ask: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const cached = new BoundedMap<{ readonly answer: Promise<T>; expiresAt: number }>(MAX_ANSWERS)
  return (key) => {
    const found = cached.get(key)
    if (found && performance.now() < found.expiresAt) return found.answer
    const entry = { answer: ask(key), expiresAt: Number.POSITIVE_INFINITY }
    const expireIn = (milliseconds: number) => {
      entry.expiresAt = performance.now() + milliseconds
    }
    entry.answer.then(
      () => expireIn(FOUND_MS),
      () => expireIn(FAILED_MS),
    )
    cached.set(key, entry)
    return entry.answer
  }
}
