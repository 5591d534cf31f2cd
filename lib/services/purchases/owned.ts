import { parseObject } from '../../domain/fields.ts'
import type { OwnedPage } from '../../domain/purchase.ts'
import { type OwnedQuery, ownedListFields, pageFor } from '../../domain/query.ts'
import { TillError } from '../../errors.ts'
import { assertScope, type Caller, getNamedStore, isSession, readNamedStore } from '../access.ts'
import type { Context } from '../context.ts'

/** See `Purchases.owned`. */
export async function listOwned(
  { storage, now }: Context,
  caller: Caller,
  query: OwnedQuery,
): Promise<OwnedPage> {
  assertScope(caller, 'items:read')
  const { store_id, user_id, limit, cursor } = parseObject(query, ownedListFields)
  assertOwnUser(caller, user_id)
  const store = { account_id: caller.account_id, store_id }
  const page = pageFor({ limit, cursor })
  const read = () => storage.listOwned(store, user_id, page, now())
  const check = getNamedStore(storage, caller, store_id)
  // The time of a read would tell a session whether a store of another project exists.
  const found = isSession(caller) ? check.then(read) : readNamedStore(read(), check)
  const { records: owned, ...further } = await found
  return { owned, ...further }
}

/**
 * Rejects tokens that were issued for a public key, because a client chooses the user of such a
 * token freely.
 */
function assertOwnUser(caller: Caller, user_id: string): void {
  if (!isSession(caller)) return
  if (caller.issued_by === 'account' && caller.user_id === user_id) return
  const message = 'Only a token that the account issued to this user shows what the user owns'
  throw new TillError('insufficient_scope', message)
}
