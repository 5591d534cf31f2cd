import { type Account, type Till, TillError } from '../lib/index.ts'
import type { Exchange } from './exchange.ts'

/** Returns the id of the account that the host has authenticated; undefined for none. */
export type AccountHook<Request> = (
  request: Request,
) => string | undefined | Promise<string | undefined>

/** Creates a function that returns the account of a request, or throws `account_key_required`. */
export function createHostAccount<Request>(
  till: Till,
  hook: AccountHook<Request> | undefined,
): ((exchange: Exchange) => Promise<Account>) | undefined {
  if (hook === undefined) return undefined
  if (typeof hook !== 'function') throw new TypeError('authenticateAccount must be a function')
  return async (exchange) => {
    // The host may have read a cookie, which browsers also send for scripts of other sites.
    if (exchange.header('sec-fetch-site') === 'cross-site') return till.accounts.authenticate('')
    const account_id = await hook(exchange.request as Request)
    if (!account_id) return till.accounts.authenticate(undefined)
    try {
      return await till.accounts.get(account_id)
    } catch (cause) {
      if (!(cause instanceof TillError) || cause.kind !== 'not_found') throw cause
      const message = 'authenticateAccount must return the id of an account'
      throw new TypeError(message, { cause })
    }
  }
}
