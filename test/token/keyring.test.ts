import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  createFixedKeyring,
  createStoredKeyring,
  HANDOVER_MS,
  type KeyStore,
  MAX_LIFETIME,
  type ReplaceKeys,
  type StoredKey,
} from '../../lib/token/keyring.ts'

const START = Date.parse('2026-01-02T03:04:05.000Z')

describe('a stored ring', () => {
  test('rotates: the new key signs after every process has had time to read it', async () => {
    const world = setUp()
    const [ring, other] = [world.ring(), world.ring()]
    const before = await ring.sign(world.claims())
    assert.deepEqual(await other.verify(before, world.expected()), world.claims())

    const { kid, dropped } = await ring.rotate()

    assert.deepEqual(dropped, [])
    world.pass(HANDOVER_MS - 1)
    for (const each of [ring, other]) assert.notEqual(kidOf(await each.sign(world.claims())), kid)
    world.pass(1)
    for (const signer of [ring, other]) {
      const token = await signer.sign(world.claims())
      assert.equal(kidOf(token), kid)
      for (const each of [ring, other]) {
        assert.deepEqual(await each.verify(token, world.expected()), world.claims())
      }
    }
    assert.notEqual(await other.verify(before, world.expected()), undefined)
  })

  test('drops all other keys when one may have leaked: every token expires within the handover time', async () => {
    const world = setUp()
    const [ring, other] = [world.ring(), world.ring()]
    const before = await ring.sign(world.claims())
    for (const each of [ring, other]) {
      assert.notEqual(await each.verify(before, world.expected()), undefined) // is cached
    }

    const { kid, dropped } = await ring.rotate('others')

    assert.deepEqual(dropped, [kidOf(before)])
    world.pass(HANDOVER_MS)
    for (const each of [ring, other]) {
      assert.equal(await each.verify(before, world.expected()), undefined)
      assert.equal(kidOf(await each.sign(world.claims())), kid)
    }
  })

  test('a process with a slow clock reads the keys again for an unknown kid', async () => {
    const world = setUp()
    const [ring, slow] = [world.ring(), world.ring(-4_000)]
    await slow.sign(world.claims())
    const { kid } = await ring.rotate()
    world.pass(HANDOVER_MS - 1_000)
    await slow.sign(world.claims())
    world.pass(1_000)

    const token = await ring.sign(world.claims())

    assert.equal(kidOf(token), kid)
    assert.deepEqual(await slow.verify(token, world.expected()), world.claims())
  })

  test('drops a key only when no token signed by it is valid any more', async () => {
    const world = setUp()
    const ring = world.ring()
    const first = kidOf(await ring.sign(world.claims()))
    const second = (await ring.rotate()).kid
    world.pass(HANDOVER_MS - 1)
    const last = await ring.sign({ ...world.claims(), exp: world.seconds() + MAX_LIFETIME })
    assert.equal(kidOf(last), first)

    world.pass(MAX_LIFETIME * 1_000 + 4_000)
    assert.notEqual(await ring.verify(last, world.expected()), undefined)
    assert.deepEqual((await ring.rotate()).dropped, [])
    world.pass(1_002)
    assert.equal(await ring.verify(last, world.expected()), undefined)
    const { kid, dropped } = await ring.rotate()

    assert.deepEqual(dropped, [first])
    const kept = (await ring.list()).map((key) => key.kid)
    assert.equal(kept.length, 3)
    assert.deepEqual([kept[0], kept[2]], [second, kid])
  })

  test('reads the keyStore every 5 s, and for bad tokens at most once a second', async () => {
    const world = setUp()
    const ring = world.ring()
    const token = await ring.sign(world.claims())
    const reads = world.reads()

    for (let i = 0; i < 50; i++) {
      await ring.verify('bad', world.expected())
      await ring.verify(token, world.expected())
      world.pass(100)
    }

    assert.equal(world.reads() - reads, 4)
  })

  test('lists its keys in order, without their secrets; an empty ring stays empty', async () => {
    const world = setUp()
    const ring = world.ring()
    assert.deepEqual(await ring.list(), [])

    const { kid } = await ring.rotate()

    assert.deepEqual(await ring.list(), [{ kid, created_at: '2026-01-02T03:04:05.000Z' }])
    assert.equal(kidOf(await ring.sign(world.claims())), kid)
  })

  test('two concurrent rotations both add a key, and all processes sign with the same one', async () => {
    const world = setUp()
    const rings = [world.ring(), world.ring()]

    const made = await Promise.all(rings.map((ring) => ring.rotate()))

    world.pass(HANDOVER_MS)
    const signed = await Promise.all(rings.map((ring) => ring.sign(world.claims())))
    assert.deepEqual(signed.map(kidOf), [made[1]?.kid, made[1]?.kid])
  })

  test('a ring still signs and verifies after the clock is set back a year', async () => {
    const world = setUp()
    const ring = world.ring()
    await ring.rotate()
    await ring.rotate()
    world.pass(-365 * 86_400_000)

    const token = await ring.sign(world.claims())

    assert.deepEqual(await ring.verify(token, world.expected()), world.claims())
  })
})

test('a ring of the operator’s secret has no keys to rotate or list', async () => {
  const ring = createFixedKeyring('a secret of thirty-two bytes or more')

  await assert.rejects(
    ring.rotate('others', async () => []),
    { code: 'invalid_request' },
  )
  await assert.rejects(ring.list(), { code: 'invalid_request' })
})

/** A keyStore, a clock, and rings that share them. */
function setUp() {
  let time = START
  let reads = 0
  let keys: StoredKey[] = []
  const keyStore: KeyStore = {
    list: async () => {
      reads++
      return structuredClone(keys)
    },
    insertFirst: async (key) => {
      if (keys.length === 0) keys.push(key)
    },
  }
  const replace: ReplaceKeys = async (key, drop) => {
    const kids = drop([...keys, key])
    keys = [...keys, key].filter(({ kid }) => !kids.includes(kid))
    return kids
  }
  const newRing = (skew = 0) => {
    const ring = createStoredKeyring(keyStore, () => time + skew)
    const rotate = (drop: 'unneeded' | 'others' = 'unneeded') => ring.rotate(drop, replace)
    return { ...ring, rotate }
  }
  const seconds = () => Math.floor(time / 1_000)
  const texts = { iss: 'tillkit', sub: 'u', project_id: 'p', scope: 's', jti: 'j' }
  const iat = Math.floor(START / 1_000)
  return {
    ring: newRing,
    reads: () => reads,
    pass: (ms: number) => {
      time += ms
    },
    seconds,
    claims: () => ({ ...texts, iat: Math.min(iat, seconds()), exp: iat + 3_600 }),
    expected: () => ({ iss: 'tillkit', now: seconds() }),
  }
}

function kidOf(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
}
