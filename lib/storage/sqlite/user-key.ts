/**
 * The key of a user's purchases in the index `purchase_users`: a hash of 31 bits. Users may share a
 * key, so each read compares the user id of the purchase too. Compared with an index of user ids,
 * this index takes half of the space, and two thirds of the time to write.
 */
export function userKey(store: number, user_id: string): number {
  let hash = store
  for (let i = 0; i < user_id.length; i++) {
    hash = Math.imul(hash ^ user_id.charCodeAt(i), 0x01000193) // FNV-1a
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) // MurmurHash3's finalizer
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 1
}
