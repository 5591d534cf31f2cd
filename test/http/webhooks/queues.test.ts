import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createQueues, type Queues, type Turn } from '../../../http/webhooks/queues.ts'

function fill(queues: Queues, endpoint_id: string, count: number, body = '{}'): void {
  for (let sequence = 0; sequence < count; sequence++) {
    const message = { endpoint_id, sequence, part: 0, attempt: 1, url: '', headers: {}, body }
    queues.add(message, Number.POSITIVE_INFINITY)
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
  turns[0]?.finish(true)
  assert.equal(queues.next()?.message.sequence, 10)
  assert.equal(queues.next(), undefined)
})

test('an endpoint that does not answer has one request in flight, until it answers', () => {
  const queues = createQueues()
  fill(queues, 'a', 30)
  for (const turn of takeAll(queues)) turn.finish(false)
  const [only = assert.fail(), ...others] = takeAll(queues)
  assert.deepEqual(others, [])
  only.finish(true)
  assert.equal(takeAll(queues).length, 10)
})

test('endpoints that do not answer have at most half of all requests in flight', () => {
  const queues = createQueues()
  const dead = Array.from({ length: 400 }, (_, i) => `dead ${i}`)
  for (const each of dead) fill(queues, each, 1)
  for (const turn of takeAll(queues)) turn.finish(false)
  for (const each of dead) fill(queues, each, 1)
  assert.equal(takeAll(queues).length, 250)
  for (let i = 0; i < 40; i++) fill(queues, `live ${i}`, 10)
  const counts = countByEndpoint(takeAll(queues))
  assert.equal(
    Object.values(counts).reduce((sum, count) => sum + count),
    250,
  )
  assert.ok(Object.keys(counts).every((each) => each.startsWith('live')))
})

test('there is no room for more messages than fit into memory', () => {
  const many = createQueues()
  fill(many, 'a', 1_999)
  assert.ok(many.hasRoom())
  fill(many, 'b', 1)
  assert.ok(!many.hasRoom())
  takeAll(many)
  assert.ok(many.hasRoom())
  const large = createQueues()
  fill(large, 'a', 256, 'x'.repeat(65_536))
  assert.ok(!large.hasRoom())
  assert.deepEqual([large.isFull('a'), large.full()], [true, ['a']])
  assert.equal(large.drop('a').length, 256)
  assert.ok(large.hasRoom() && !large.isFull('a'))
})
