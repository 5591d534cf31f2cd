import { isIP } from 'node:net'
import { isPublicAddress } from './addresses.ts'
import { RequestFailure } from './failure.ts'
import type { Resolve } from './resolver.ts'

/** The URL of a receiver, and the addresses that a request may connect to. */
export interface Target {
  readonly url: URL
  readonly addresses: readonly string[]
}

/** If a host name has more addresses than this, only the first ones are used. */
const MAX_ADDRESSES = 8

/**
 * Resolves the host of a URL. Unless `allowPrivate`, the URL must be https, and only public
 * addresses are returned. The caller connects to these addresses and does not resolve the name
 * again: a second answer could be a private address. Rejects with a `RequestFailure`.
 */
export async function findTarget(
  text: string,
  resolve: Resolve,
  allowPrivate: boolean,
): Promise<Target> {
  const url = parseUrl(text, allowPrivate)
  // `isIP` finds every IPv4 address: `URL` has converted decimal, octal and shortened ones to the
  // usual form.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const found = isIP(host) ? [host] : await resolveName(host, resolve)
  const addresses = found.filter((each) => isIP(each) && (allowPrivate || isPublicAddress(each)))
  if (addresses.length === 0) {
    throw new RequestFailure('refused', 'The host has no public address')
  }
  return { url, addresses: addresses.slice(0, MAX_ADDRESSES) }
}

function parseUrl(text: string, allowPrivate: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new RequestFailure('refused', 'The URL is not an http or https URL')
  }
  if (url.protocol !== 'https:' && !allowPrivate) {
    throw new RequestFailure('refused', 'The URL is not https')
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
