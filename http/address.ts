import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { SentHeaders } from './headers.ts'

/**
 * The client that a request came from, as rate limits count it: an IPv4 address, or the /64 of an
 * IPv6 one, since that is what one client is given. Behind a proxy that is trusted it is the last
 * hop of X-Forwarded-For, which that proxy wrote; what stands before it anybody may have written.
 */
export function clientAddress(
  request: IncomingMessage,
  sent: SentHeaders,
  trustProxy: boolean,
): string {
  const hop = trustProxy && sent.forwarded_for ? lastHop(sent.forwarded_for) : undefined
  return networkOf(hop ?? request.socket.remoteAddress ?? '')
}

function lastHop(forwarded: string): string | undefined {
  const hop = forwarded.slice(forwarded.lastIndexOf(',') + 1).trim()
  // Some proxies write a port behind the address: 192.0.2.1:4711, [2001:db8::1]:4711
  const address = hop.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  return isIP(address) ? address : undefined
}

function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return mapped ?? `${groupsOf(address).slice(0, 4).join(':')}::/64`
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.toLowerCase().replace(/%.*$/, '').split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ''))
}
