import { lookup, Resolver } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { BoundedMap } from '../../lib/bounded-map.ts'
import { RequestFailure } from './failure.ts'

/** The URL of a receiver, and the addresses that a request may connect to. */
export interface ResolvedReceiver {
  readonly url: URL
  readonly addresses: readonly string[]
}

/** Names the option of the operator. The owner of the webhook reads it too: see `is_private`. */
const NEEDED_OPTION =
  'only a server with --webhook-allow-private (in the library, allowPrivate) sends to it'

/** If a host name has more addresses than this, only the first ones are used. */
const MAX_ADDRESSES = 8

/**
 * Resolves the host of a URL. Unless `allowPrivate`, the URL must be https, and only public
 * addresses are returned. The caller connects to these addresses and does not resolve the name
 * again: a second answer could be a private address. Rejects with a `RequestFailure`.
 */
export async function findReceiver(
  text: string,
  resolve: Resolve,
  allowPrivate: boolean,
): Promise<ResolvedReceiver> {
  const url = parseUrl(text, allowPrivate)
  // `isIP` finds every IPv4 address: `URL` has converted decimal, octal and shortened ones to the
  // usual form.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const found = isIP(host) ? [host] : await resolveName(host, resolve)
  const addresses = found.filter((each) => isIP(each) && (allowPrivate || isPublicAddress(each)))
  if (addresses.length === 0) {
    throw new RequestFailure('refused', `The host has no public address: ${NEEDED_OPTION}`)
  }
  return { url, addresses: addresses.slice(0, MAX_ADDRESSES) }
}

function parseUrl(text: string, allowPrivate: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new RequestFailure('refused', 'The URL is not an http or https URL')
  }
  if (url.protocol !== 'https:' && !allowPrivate) {
    throw new RequestFailure('refused', `The URL is not https: ${NEEDED_OPTION}`)
  }
  if (url.username || url.password) {
    throw new RequestFailure('refused', 'The URL contains credentials')
  }
  return url
}

async function resolveName(host: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(host)
  } catch (error) {
    throw new RequestFailure('dns', 'The host name could not be resolved', { cause: error })
  }
}

/** IPv4 networks that are not public, from the IANA registry of special-purpose addresses. */
const PRIVATE_IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // "this network" (RFC 791)
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // Azure's host agent
  ['169.254.0.0', 16], // link-local, cloud metadata
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // IETF protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
]

/**
 * Only 2000::/3 is global unicast. Everything else is not public: loopback, IPv4-mapped, NAT64
 * (64:ff9b::/96), unique local, link-local and multicast addresses.
 */
const GLOBAL_IPV6 = ['2000::', 3] as const

/** IPv6 networks in 2000::/3 that are not public. */
const PRIVATE_IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23], // IETF protocol assignments, Teredo
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which contains an IPv4 address
  ['3fff::', 20], // documentation
]

const blocked = new BlockList()
for (const [network, prefix] of PRIVATE_IPV4) blocked.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of PRIVATE_IPV6) blocked.addSubnet(network, prefix, 'ipv6')
const global = new BlockList()
global.addSubnet(...GLOBAL_IPV6, 'ipv6')

/** Whether an IP address belongs to a host on the internet. Returns false for any other text. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !blocked.check(address, 'ipv4')
  return version === 6 && global.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
}

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
