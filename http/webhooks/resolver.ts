import { lookup, Resolver } from 'node:dns/promises'
import { BoundedMap } from '../../lib/bounded-map.ts'

/** Resolves a host name to IP addresses. Rejects when it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** Milliseconds that an answer is cached: a name that has many messages is asked for once. */
const FOUND_MS = 30_000
const FAILED_MS = 5_000
const MAX_NAMES = 10_000

/**
 * Resolves names with c-ares, because `dns.lookup` occupies a thread that files and compression
 * need too: a few slow name servers would block the whole process. With `useSystem`, names that
 * DNS does not know are looked up in the hosts file and in search domains, one at a time.
 */
export function createResolver(useSystem: boolean): Resolve {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  let previous: Promise<unknown> = Promise.resolve()
  const askSystem = (hostname: string) => {
    const found = previous.then(() => lookup(hostname, { all: true }))
    previous = found.catch(() => {})
    return found.then((all) => all.map(({ address }) => address))
  }
  return async (hostname) => {
    if (/(^|\.)localhost\.?$/.test(hostname)) return ['127.0.0.1', '::1'] // RFC 6761
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

interface CachedName {
  readonly addresses: Promise<readonly string[]>
  expiresAt: number
}

/** Caches the answers of a resolver, failures too. Simultaneous calls share one answer. */
export function cacheNames(resolve: Resolve): Resolve {
  const names = new BoundedMap<CachedName>(MAX_NAMES)
  return (hostname) => {
    const cached = names.get(hostname)
    if (cached && performance.now() < cached.expiresAt) return cached.addresses
    const name = { addresses: resolve(hostname), expiresAt: Number.POSITIVE_INFINITY }
    const expireIn = (milliseconds: number) => {
      name.expiresAt = performance.now() + milliseconds
    }
    name.addresses.then(
      () => expireIn(FOUND_MS),
      () => expireIn(FAILED_MS),
    )
    names.set(hostname, name)
    return name.addresses
  }
}
