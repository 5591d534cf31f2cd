import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createQueues, type Queues, type Turn } from '../../../http/webhooks/queues.ts'

function fill(
  queues: Queues,
  endpoint_id: string,
  count: number,
  body = '{}',
  account_id = endpoint_id,
  host = endpoint_id,
): void {
  const url = `https://${host.replace(' ', '-')}.example/`
  for (let sequence = 0; sequence < count; sequence++) {
    const key = { account_id, endpoint_id, sequence, part: 0 }
    queues.add({ ...key, attempt: 1, url, headers: {}, body }, Number.POSITIVE_INFINITY)
  }
}

/** Takes turns until none is left. */
function takeAll(queues: Queues): Turn[] {
  const turns: Turn[] = []
  for (let turn = queues.next(); turn; turn = queues.next()) turns.push(turn)
  return turns
}

function countByEndpoint(turns: readonly Turn[]): { [endpoint_id: string]: number } {
  const counts: { [endpoint_id: string]: number } = {}
  for (const { message } of turns) {
    counts[message.endpoint_id] = (counts[message.endpoint_id] ?? 0) + 1
  }
  return counts
}

test('endpoints take turns, and each has at most 10 requests in flight', () => {
  const queues = createQueues()
  fill(queues, 'a', 30)
  fill(queues, 'b', 3)
  const turns = takeAll(queues)
  const order = turns.map(({ message }) => message.endpoint_id).join('')
  assert.equal(order, `ababab${'a'.repeat(7)}`)
  turns[0]?.finish('delivered')
  assert.equal(queues.next()?.message.sequence, 10)
  assert.equal(queues.next(), undefined)
})

test('one account has 10 requests in flight to one host, whatever the number of endpoints', () => {
  const queues = createQueues()
  for (let i = 0; i < 20; i++) fill(queues, `large ${i}`, 5, '{}', 'large', 'shared')
  fill(queues, 'small', 5, '{}', 'small', 'shared')
  fill(queues, 'large other', 5, '{}', 'large')
  const turns = takeAll(queues)
  const { small, 'large other': other, ...shared } = countByEndpoint(turns)
  assert.deepEqual([small, other, Object.values(shared)], [5, 5, Array(10).fill(1)])
  turns[0]?.finish('delivered')
  assert.deepEqual(countByEndpoint(takeAll(queues)), { 'large 10': 1 })
})

test('endpoints that do not answer have at most half of all requests in flight', () => {
  const queues = createQueues()
  const dead = Array.from({ length: 400 }, (_, i) => `dead ${i}`)
  for (const each of dead) fill(queues, each, 1)
  for (const turn of takeAll(queues)) turn.finish('slow')
  for (const each of dead) fill(queues, each, 1)
  assert.equal(takeAll(queues).length, 250)
  for (let i = 0; i < 40; i++) fill(queues, `live ${i}`, 10)
  const live = takeAll(queues)
  assert.ok(live.length > 240, `${live.length}`) // a few are left for another account
  const counts = countByEndpoint(live)
  assert.ok(Object.keys(counts).every((each) => each.startsWith('live')))
})

test('large accounts share the requests in flight, and leave some to another', () => {
  const queues = createQueues()
  const shares = ['first', 'second', 'third'].map((account) => {
    for (let i = 0; i < 100; i++) fill(queues, `${account} ${i}`, 10, '{}', account)
    return takeAll(queues)
  })
  assert.deepEqual(
    shares.map(({ length }) => length),
    [250, 125, 63],
  )
  for (const turn of shares.flat()) turn.finish('delivered')
  const later = takeAll(queues).map(({ message }) => message.account_id)
  for (const account of ['first', 'second', 'third']) {
    assert.ok(later.filter((each) => each === account).length >= 100, account)
  }
  fill(queues, 'small', 5)
  assert.equal(takeAll(queues).length, 5)
})

test('endpoints of one account that do not answer leave half of their requests to others', () => {
  const queues = createQueues()
  for (const account of ['large', 'small']) {
    for (let i = 0; i < 200; i++) fill(queues, `${account} ${i}`, 1, '{}', account)
    for (const turn of takeAll(queues)) turn.finish('slow')
  }
  for (const account of ['large', 'small']) {
    for (let i = 0; i < 200; i++) fill(queues, `${account} ${i}`, 1, '{}', account)
    assert.equal(takeAll(queues).length, account === 'large' ? 125 : 63)
  }
})
