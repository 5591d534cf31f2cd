import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClaimed } from '../../lib/services/webhooks/claimed.ts'

type Claimed = ReturnType<typeof createClaimed>

/** Claims as many messages of an account as it may have, at most `most`. Returns how many. */
function fill(claimed: Claimed, account_id: string, bytes = 2, most = 10_000): number {
  let count = 0
  for (; count < most && claimed.hasRoom(account_id); count++) {
    const key = { endpoint_id: account_id, sequence: count, part: 0 }
    claimed.add({ ...key, account_id }, bytes, 1)
  }
  return count
}

test('claimed messages fit into 16 MiB, an account has half of what others leave, and a part is left', () => {
  const small = createClaimed()
  const accounts = ['a', 'b', 'c', 'd']
  assert.deepEqual(
    accounts.map((account) => fill(small, account)),
    [1_024, 512, 256, 128],
  )
  assert.deepEqual(small.full(), accounts)
  assert.ok(small.hasRoom('other'))
  // An account with few messages is served while others have used up their shares.
  fill(small, 'other', 2, 1)
  assert.ok(!small.full().includes('other'))
  const large = createClaimed()
  assert.equal(fill(large, 'a', 65_536), 128)
})

test('a claim ends when it is settled, or when its time is over', () => {
  const claimed = createClaimed()
  fill(claimed, 'a', 2, 3)
  const key = { endpoint_id: 'a', sequence: 1, part: 0 }
  claimed.delete(key)
  claimed.expire(0)
  assert.deepEqual([claimed.has(key), claimed.count().get('a')], [false, 2])
  claimed.expire(1)
  assert.equal(claimed.count().size, 0)
})
