import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readClaims } from '../../lib/token/claims.ts'
import {
  createStoredKeyring,
  HANDOVER_MS,
  type KeyStore,
  MAX_LIFETIME,
  type ReplaceKeys,
  type StoredKey,
} from '../../lib/token/keyring.ts'
import { pluck } from '../support/collect.ts'
import { fc } from '../support/seeds.ts'

const START = Date.parse('2026-01-02T03:04:05.000Z')

describe('a stored ring', () => {
  /** The time after its successor's creation at which a key is dropped: no token needs it. */
  const NEEDED_MS = HANDOVER_MS + (MAX_LIFETIME + 5) * 1_000
  const delays = [100, 900, 4_001, HANDOVER_MS - 1, HANDOVER_MS, 3_600_000, NEEDED_MS]
  const step = fc.oneof(
    fc.record({ pass: fc.constantFrom(...delays) }),
    fc.record({ drop: fc.constantFrom('unneeded', 'others'), ring: fc.nat(1) }),
    fc.record({ lifetime: fc.constantFrom(60, MAX_LIFETIME), ring: fc.nat(2) }),
  )

  test('signs with the newest key that all processes know, and verifies tokens until their end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const world = setUp()
        const rings = [world.ring(), world.ring(), world.ring(-4_000)] // the last has a slow clock
        const ringOf = (index: number) => rings[index] ?? assert.fail()
        const tokens: { token: string; kid: string; exp: number }[] = []
        let keys: { kid: string; at: number }[] = []
        let leakedAt = Number.NEGATIVE_INFINITY
        const isValid = ({ exp }: { exp: number }) => exp > world.seconds() - 5
        const sign = async (ring: number, lifetime: number) => {
          const exp = world.seconds() + lifetime
          const token = await ringOf(ring).sign({ ...world.claims(), exp })
          const kid = kidOf(token)
          tokens.push({ token, exp, kid })
          return kid
        }
        keys = [{ kid: await sign(0, 60), at: world.now() }]
        for (const each of steps) {
          if ('pass' in each) world.pass(each.pass)
          else if ('drop' in each) {
            const { kid, dropped } = await ringOf(each.ring).rotate(each.drop)
            keys.push({ kid, at: world.now() })
            const ends = (at = Number.POSITIVE_INFINITY) => at + NEEDED_MS < world.now()
            const isDropped = ({ kid: other }: { kid: string }, i: number) =>
              each.drop === 'others' ? other !== kid : ends(keys[i + 1]?.at)
            assert.deepEqual(dropped, pluck(keys.filter(isDropped), 'kid'))
            keys = keys.filter((key) => !dropped.includes(key.kid))
            if (each.drop === 'others') leakedAt = world.now()
            else {
              const lost = tokens.filter((token) => dropped.includes(token.kid) && isValid(token))
              assert.deepEqual(lost, [])
            }
          } else {
            const kid = await sign(each.ring, each.lifetime)
            const known = world.now() - HANDOVER_MS - (each.ring === 2 ? 4_000 : 0)
            const newest = keys.findLast(({ at }) => at <= known) ?? keys[0]
            if (world.now() - leakedAt >= HANDOVER_MS) assert.equal(kid, newest?.kid)
          }
          if (world.now() - leakedAt < HANDOVER_MS) continue // some processes know other keys
          for (const each of tokens) {
            const isGood = isValid(each) && keys.some(({ kid }) => kid === each.kid)
            for (const ring of rings) {
              const found = await ring.verify(each.token, world.expected())
              assert.equal(found !== undefined, isGood)
            }
          }
        }
      }),
    )
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

  test('a ring still signs and verifies after the clock is set back a year', async () => {
    const world = setUp()
    const ring = world.ring()
    await ring.rotate()
    await ring.rotate()
    world.pass(-365 * 86_400_000)

    const token = await ring.sign(world.claims())

    assert.deepEqual(await ring.verify(token, world.expected()), readClaims(world.claims()))
  })
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
    ...{ seconds, now: () => time },
    claims: () => ({ ...texts, iat: Math.min(iat, seconds()), exp: iat + 3_600 }),
    expected: () => ({ iss: 'tillkit', now: seconds() }),
  }
}

function kidOf(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
}
