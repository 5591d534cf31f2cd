import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeld } from '../../lib/services/webhooks/held.ts'

type Held = ReturnType<typeof createHeld>

/** Adds as many messages of an account as it may have, at most `most`. Returns how many. */
function fill(held: Held, account_id: string, length = 2, most = 10_000): number {
  const rest = { endpoint_id: account_id, part: 0, attempt: 1, url: '', headers: {} }
  const body = 'x'.repeat(length)
  let count = 0
  for (; count < most && held.hasRoom(account_id); count++) {
    held.add({ ...rest, account_id, body, sequence: count })
  }
  return count
}

test('held messages fit into 16 MiB, an account has half of what others leave, and a part is left', () => {
  const small = createHeld([])
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
  const large = createHeld([])
  assert.equal(fill(large, 'a', 65_536), 128)
})
