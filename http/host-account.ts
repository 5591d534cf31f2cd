import { type Account, type Till, TillError } from '../lib/index.ts'
import { assertMediaType } from './body.ts'
import type { Exchange } from './exchange.ts'

/**
 * Returns the id of the account that the embedding application has authenticated; undefined for
 * none.
 */
export type AccountHook<Request> = (
  request: Request,
) => string | undefined | Promise<string | undefined>

/** Creates a function that returns the account of a request, or throws `account_key_required`. */
export function createHostAccount<Request>(
  till: Till,
  hook: AccountHook<Request> | undefined,
): ((exchange: Exchange) => Promise<Account>) | undefined {
  if (hook === undefined) return undefined
  return async (exchange) => {
    // Refuses requests of other origins: browsers may add the cookie by which the application
    // identifies the account.
    const site = exchange.header('sec-fetch-site')
    if (site === 'cross-site' || site === 'same-site') return till.accounts.authenticate('')
    // Requires `application/json`. Browsers without `Sec-Fetch-Site` send a CORS preflight before a
    // script of another origin can send this type.
    assertMediaType(exchange, 'application/json', true)
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
