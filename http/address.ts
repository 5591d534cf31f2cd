import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { RequestHeaders } from './headers.ts'

/**
 * The address of a request's client. Each of `hops` trusted proxies appends an entry to
 * X-Forwarded-For, so the client's address is entry number `hops` from the right. A client can
 * forge the entries further left. If there are fewer entries, the first one is used; if there are
 * none, the address of the connection.
 */
export function clientAddress(
  { socket }: IncomingMessage,
  headers: RequestHeaders,
  hops: number,
): string {
  return forwardedAddress(headers, hops) ?? connectionAddress(socket)
}

/** The client's address from X-Forwarded-For; undefined without that header or trusted proxies. */
export function forwardedAddress(
  { 'x-forwarded-for': forwarded }: RequestHeaders,
  hops: number,
): string | undefined {
  const hop = hops > 0 && forwarded ? hopOf(forwarded, hops) : undefined
  return hop && unmapped(hop)
}

/** The remote address of a connection. */
export function connectionAddress({ remoteAddress = '' }: Socket): string {
  return unmapped(remoteAddress)
}

/** Converts an IPv4-mapped IPv6 address to the IPv4 address. Returns other addresses unchanged. */
function unmapped(address: string): string {
  if (!address.startsWith('::')) return address
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address
}

function hopOf(forwarded: string, hops: number): string | undefined {
  let end = forwarded.length
  let start = forwarded.lastIndexOf(',')
  for (let hop = 1; hop < hops && start >= 0; hop++) {
    end = start
    start = end > 0 ? forwarded.lastIndexOf(',', end - 1) : -1
  }
  const hop = forwarded.slice(start + 1, end).trim()
  // Removes the port that some proxies append to an address, as in `[2001:db8::1]:4711`.
  const address = hop.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  // Copies the address. A slice would keep the whole header in memory as long as a rate limit holds
  // the address.
  return isIP(address) ? Buffer.from(address).toString('latin1') : undefined
}

const MAX_NETWORKS = 10_000
/**
 * Caches the network of each IPv6 address, because parsing one takes 2 µs. The cache is emptied
 * when full.
 */
const networks = new Map<string, string>()

/**
 * The key under which rate limits and concurrency limits count an address: the IPv4 address, or the
 * /64 network of an IPv6 address.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  let network = networks.get(address)
  if (network === undefined) {
    network = parseNetwork(address)
    if (networks.size >= MAX_NETWORKS) networks.clear()
    networks.set(address, network)
  }
  return network
}

function parseNetwork(address: string): string {
  return `${groupsOf(address).slice(0, 4).join(':')}::/64`
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.toLowerCase().replace(/%.*$/, '').split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ''))
}
