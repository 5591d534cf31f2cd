import assert from 'node:assert/strict'
import { describe, test as testOnce } from 'node:test'
import { createTill, type Till } from '../../lib/index.ts'
import type { KeyUse } from '../../lib/storage/sql/records.ts'
import { pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { newPlace } from '../support/place.ts'
import { createClock, createShop, failureOf } from '../support/till.ts'

const USER = { user_id: 'player' }

describe('account keys', () => {
  test('authenticate one account, each with its own id, and are listed without their secret part', async () => {
    const { till, account } = await createShop({ now: createClock().now })
    const { account_id, created_at, key_id } = account

    const { account_key, ...added } = await till.accounts.addKey(account, { name: 'Game server' })

    assert.match(account_key, /^ak_[\w-]{43}$/)
    assert.equal(added.name, 'Game server')
    const listed = await till.accounts.listKeys(account)
    assert.deepEqual(listed, [{ account_id, created_at, key_id, name: 'First key' }, added])
    const first = await till.accounts.pageOfKeys(account, { limit: 1 })
    assert.deepEqual(first.keys, listed.slice(0, 1))
    const second = await till.accounts.pageOfKeys(account, { cursor: first.next })
    assert.deepEqual(second, { keys: listed.slice(1) })
    for (const [key, id] of [
      [account.account_key, key_id],
      [account_key, added.key_id],
    ]) {
      const found = await till.accounts.authenticate(key)
      assert.deepEqual([found.account_id, found.key_id], [account_id, id])
    }
    for (const name of ['', 'x'.repeat(256), 1 as never]) {
      const { code, details } = await failureOf(till.accounts.addKey(account, { name }))
      assert.deepEqual([code, details[0]?.field], ['invalid_request', 'name'])
    }
  })

  testOnce('show the day of their latest use, which is written once a day', async (t) => {
    const place = newPlace(t)
    const { account } = await place.shop()
    const storage = await place.storage()
    const days: string[] = []
    const noteKeyUse = (use: KeyUse) => {
      days.push(use.last_used_on)
      return days.length === 1 ? Promise.reject(new Error('full')) : storage.noteKeyUse(use)
    }
    const till = createTill({ storage: { ...storage, noteKeyUse }, now: place.clock.now })
    t.after(() => till.close())
    const { entries } = await till.accounts.listAudit(account)
    await storage.dataVersion?.check()
    const version = storage.dataVersion?.current()
    const use = async (written: number) => {
      for (let i = 0; i < 3; i++) await till.accounts.authenticate(account.account_key)
      await eventuallyHolds(() => assert.equal(days.length, written))
      await till.accounts.authenticate(account.account_key)
    }

    await use(1)
    await use(2) // the first write has failed
    place.clock.pass(86_400_000)
    await use(3)

    assert.deepEqual(days, ['2024-03-01', '2024-03-01', '2024-03-02'])
    const [key] = await till.accounts.listKeys(account)
    assert.equal(key?.last_used_on, '2024-03-02')
    assert.deepEqual((await till.accounts.listAudit(account)).entries, entries)
    await storage.dataVersion?.check()
    assert.ok(version !== undefined && storage.dataVersion?.current() === version)
  })
})

test('an account key can revoke itself, and of two that revoke each other one does', async () => {
  const { till, account } = await createShop()
  const add = async () => {
    const { account_key } = await till.accounts.addKey(account)
    return till.accounts.authenticate(account_key)
  }
  const [a, b, c] = [await add(), await add(), await add()]

  await till.accounts.revokeKey(c, c.key_id)
  const both = [till.accounts.revokeKey(a, b.key_id), till.accounts.revokeKey(b, a.key_id)]
  const settled = await Promise.allSettled(both)

  assert.deepEqual(pluck(settled, 'status').toSorted(), ['fulfilled', 'rejected'])
  const keys = await till.accounts.listKeys(account)
  assert.equal(keys.filter(({ revoked_at }) => revoked_at).length, 2)
})

test('a key leaves its account a key with admin, also when all revoke themselves', async () => {
  const { till, account: created } = await createShop()
  const { account_id, key_id } = created
  const operator = await till.accounts.get(account_id)
  const first = await till.accounts.authenticate(created.account_key)
  await till.accounts.addKey(operator, { scopes: ['read', 'catalog'] })
  for (const refused of [
    till.accounts.revokeKey(first, key_id),
    till.accounts.updateKey(first, { key_id, scopes: ['read'] }),
  ]) {
    const { code, details } = await failureOf(refused)
    assert.deepEqual([code, details[0]?.field], ['invalid_request', 'key_id'])
    assert.equal(details[0]?.code, 'last_admin')
  }
  await till.accounts.updateKey(first, { key_id, name: 'Renamed', scopes: ['admin', 'read'] })

  const { account_key, key_id: second_id } = await till.accounts.addKey(operator)
  const second = await till.accounts.authenticate(account_key)
  const settled = await Promise.allSettled([
    till.accounts.revokeKey(first, key_id),
    till.accounts.revokeKey(second, second_id),
  ])
  assert.deepEqual(pluck(settled, 'status').toSorted(), ['fulfilled', 'rejected'])

  for (const each of [key_id, second_id]) {
    await till.accounts.revokeKey(operator, each).catch(() => {})
  }
  const keys = await till.accounts.listKeys(operator)
  assert.equal(keys.filter(({ revoked_at }) => !revoked_at).length, 1, 'the operator may')
})

describe('a replaced public key', () => {
  const opens = async (till: Till, public_key: string) =>
    till.sessions.accessToken(public_key).then(
      () => true,
      ({ code }) => assert.equal(code, 'invalid_public_key'),
    )

  test('works beside its successor until the grace period ends, and does not reveal it', async (t) => {
    const place = newPlace(t)
    const { till, clock, account, project } = await place.shop()
    const { id, public_key: former } = project
    const other = await place.till()

    const { public_key } = await till.projects.rotateKey(account, { id, grace_period: 60_000 })

    assert.match(public_key, /^pk_[\w-]{32}$/)
    assert.notEqual(public_key, former)
    for (const each of [till, other]) {
      for (const key of [former, public_key]) {
        const sent = { ...USER, public_key: key }
        const session = await each.sessions.init(key, sent)
        assert.deepEqual([session.project.id, session.project.public_key], [id, key])
        await each.sessions.token(key, sent)
        await each.sessions.accessToken(key)
        assert.equal((await each.projects.authenticate(key)).public_key, key)
      }
    }
    assert.equal((await till.projects.get(account, id)).public_key, public_key)
    clock.pass(59_999)
    assert.ok(await opens(other, former))
    clock.pass(1)
    for (const each of [till, other]) {
      assert.deepEqual(
        await failureOf(each.sessions.accessToken(former)),
        await failureOf(each.sessions.accessToken('pk_nobody')),
      )
      assert.ok(await opens(each, public_key))
    }
  })

  test('is refused by every process at once without a grace period, with all former ones', async (t) => {
    const place = newPlace(t)
    const { till, account, project } = await place.shop()
    const { id, public_key: first } = project
    const other = await place.till()
    assert.ok(await opens(other, first))
    const { public_key: second } = await till.projects.rotateKey(account, { id })
    assert.ok(await opens(till, first))

    const { public_key } = await till.projects.rotateKey(account, { id, grace_period: 0 })

    for (const each of [till, other]) {
      assert.ok(!(await opens(each, first)) && !(await opens(each, second)))
      assert.ok(await opens(each, public_key))
    }
  })

  test('gets its grace period in concurrent rotations, and one key is current', async (t) => {
    const place = newPlace(t)
    const { till, clock, account, project } = await place.shop()
    const tills = [till, await place.till()]
    const rotations = Array.from({ length: 10 }, (_, n) =>
      (tills[n % 2] as Till).projects.rotateKey(account, { id: project.id, grace_period: 60_000 }),
    )

    const keys = (await Promise.all(rotations)).map(({ public_key }) => public_key)

    for (const key of [project.public_key, ...keys]) assert.ok(await opens(till, key))
    clock.pass(60_000)
    const left = await Promise.all(keys.map((key) => opens(till, key)))
    assert.equal(left.filter(Boolean).length, 1)
  })

  test('has a grace period of one day by default, and of whole milliseconds up to 30 days', async (t) => {
    const { till, clock, account, project } = await newPlace(t).shop()
    const { id, public_key } = project
    for (const gracePeriod of [-1, 30 * 86_400_000 + 1, 1.5, '60000']) {
      const rotation = till.projects.rotateKey(account, { id, grace_period: gracePeriod } as never)
      await assert.rejects(rotation, { code: 'invalid_request' })
    }
    await till.projects.rotateKey(account, { id })
    clock.pass(86_399_999)
    assert.ok(await opens(till, public_key))
    await till.projects.update(account, { id, status: 'disabled' })
    const inactive = till.sessions.accessToken(public_key)
    await assert.rejects(inactive, { code: 'project_inactive' })
    await till.projects.update(account, { id, status: 'active' })
    clock.pass(1)
    assert.ok(!(await opens(till, public_key)))
    await till.projects.rotateKey(account, { id, grace_period: 30 * 86_400_000 })
  })
})
