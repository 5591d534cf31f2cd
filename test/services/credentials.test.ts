import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTill, type Till } from '../../lib/index.ts'
import type { KeyUse } from '../../lib/storage/records.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { describeFiles, type NewPlace } from '../support/place.ts'
import { openSqlite } from '../support/sqlite.ts'
import { failureOf } from '../support/till.ts'

const USER = { user_id: 'player' }

await describeFiles('account keys', describeAccountKeys)
await describeFiles('public keys', describePublicKeys)

function describeAccountKeys(newPlace: NewPlace): void {
  test('authenticate one account, each with its own id', async (t) => {
    const { till, account } = await newPlace(t).shop()

    const added = await till.accounts.addKey(account)

    assert.match(added.account_key, /^ak_[\w-]{43}$/)
    const { account_id } = account
    for (const { account_key, key_id } of [account, added]) {
      const found = await till.accounts.authenticate(account_key)
      assert.deepEqual([found.account_id, found.key_id], [account_id, key_id])
    }
  })

  test('are listed without their secret part', async (t) => {
    const { till, account } = await newPlace(t).shop()
    const { account_key, ...added } = await till.accounts.addKey(account)

    const listed = await till.accounts.listKeys(account)

    const { account_id, created_at, key_id } = account
    assert.deepEqual(listed, [{ account_id, created_at, key_id }, added])
    const first = await till.accounts.pageOfKeys(account, { limit: 1 })
    assert.deepEqual(first.keys, listed.slice(0, 1))
    const second = await till.accounts.pageOfKeys(account, { cursor: first.next })
    assert.deepEqual(second, { keys: listed.slice(1) })
    const { entries } = await till.accounts.listAudit(account, { limit: 1 })
    assert.deepEqual([entries[0]?.action, entries[0]?.subject], ['account_key.add', added.key_id])
  })

  test('have a name, which is 1 to 255 characters', async (t) => {
    const { till, account } = await newPlace(t).shop()

    const added = await till.accounts.addKey(account, { name: 'Game server', requestId: 'r' })

    assert.equal(added.name, 'Game server')
    const [first, second] = await till.accounts.listKeys(account)
    assert.deepEqual([first?.name, second?.name], [undefined, 'Game server'])
    for (const name of ['', 'x'.repeat(256), 1 as never]) {
      const { code, details } = await failureOf(till.accounts.addKey(account, { name }))
      assert.deepEqual([code, details[0]?.field], ['invalid_request', 'name'])
    }
  })

  test('show the day of their latest use, which is written once a day', async (t) => {
    const place = newPlace(t)
    const { account } = await place.shop()
    const storage = await openSqlite(place.path)
    const days: string[] = []
    const noteKeyUse = (use: KeyUse) => {
      days.push(use.last_used_on)
      return days.length === 1 ? Promise.reject(new Error('full')) : storage.noteKeyUse(use)
    }
    const till = createTill({ storage: { ...storage, noteKeyUse }, now: place.clock.now })
    t.after(() => till.close())
    const { entries } = await till.accounts.listAudit(account)
    await storage.revision?.check()
    const revision = storage.revision?.current()
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
    await storage.revision?.check()
    assert.ok(revision !== undefined && storage.revision?.current() === revision)
  })

  test('are refused by every process as soon as they are revoked', async (t) => {
    const place = newPlace(t)
    const { till, account } = await place.shop()
    const other = await place.till()
    const added = await till.accounts.addKey(account)
    await other.accounts.authenticate(account.account_key)

    await till.accounts.revokeKey(account, account.key_id)

    for (const each of [till, other]) {
      await assert.rejects(each.accounts.authenticate(account.account_key), {
        code: 'account_key_required',
      })
      assert.equal((await each.accounts.authenticate(added.account_key)).key_id, added.key_id)
    }
    const [revoked, kept] = await till.accounts.listKeys(account)
    assert.equal(typeof revoked?.revoked_at, 'string')
    assert.equal(kept?.revoked_at, undefined)
  })

  test('fail with the same error when revoked, unknown or missing', async (t) => {
    const { till, account } = await newPlace(t).shop()
    await till.accounts.revokeKey(account, account.key_id)

    const revoked = await failureOf(till.accounts.authenticate(account.account_key))
    for (const key of ['', 'ak_', `ak_${'A'.repeat(43)}`, undefined]) {
      assert.deepEqual(await failureOf(till.accounts.authenticate(key)), revoked)
    }
  })

  test('can be revoked once, by their account only: a foreign key fails like an unknown one', async (t) => {
    const { till, account } = await newPlace(t).shop()
    const other = await till.accounts.create({ name: 'Other' })
    const revoke = (key_id: string) => failureOf(till.accounts.revokeKey(account, key_id))

    const unknown = await revoke('key_nobody')

    assert.equal(unknown.code, 'account_key_not_found')
    assert.deepEqual(await revoke(other.key_id), unknown)
    assert.equal((await till.accounts.authenticate(other.account_key)).name, 'Other')
    const added = await till.accounts.addKey(account)
    await till.accounts.revokeKey(account, added.key_id)
    assert.deepEqual(await revoke(added.key_id), unknown)
  })
}

function describePublicKeys(newPlace: NewPlace): void {
  test('work beside their successor until the grace period ends', async (t) => {
    const place = newPlace(t)
    const { till, clock, account, project } = await place.shop()
    const other = await place.till()
    const id = project.id

    const rotated = await till.projects.rotateKey(account, { id, gracePeriod: 60_000 })

    assert.match(rotated.public_key, /^pk_[\w-]{32}$/)
    assert.notEqual(rotated.public_key, project.public_key)
    for (const each of [till, other]) {
      for (const public_key of [project.public_key, rotated.public_key]) {
        const sent = { ...USER, public_key }
        const { project: found } = await each.sessions.init(public_key, sent)
        assert.equal(found.id, id)
        await each.sessions.token(public_key, sent)
        await each.sessions.accessToken(public_key)
      }
    }
    clock.pass(59_999)
    await other.sessions.accessToken(project.public_key)
    clock.pass(1)
    for (const each of [till, other]) {
      assert.deepEqual(
        await failureOf(each.sessions.accessToken(project.public_key)),
        await failureOf(each.sessions.accessToken('pk_nobody')),
      )
      await each.sessions.accessToken(rotated.public_key)
    }
  })

  test('are refused by every process at once when rotated without a grace period', async (t) => {
    const place = newPlace(t)
    const { till, account, project } = await place.shop()
    const other = await place.till()
    await other.sessions.accessToken(project.public_key)

    const rotation = { id: project.id, gracePeriod: 0 }
    const { public_key } = await till.projects.rotateKey(account, rotation)

    for (const each of [till, other]) {
      await assert.rejects(each.sessions.init(project.public_key, USER), {
        code: 'invalid_public_key',
      })
      await each.sessions.init(public_key, USER)
    }
  })

  test('lose their grace period at a second rotation without one', async (t) => {
    const { till, account, project } = await newPlace(t).shop()
    const second = await till.projects.rotateKey(account, { id: project.id })
    await till.sessions.accessToken(project.public_key)

    await till.projects.rotateKey(account, { id: project.id, gracePeriod: 0 })

    for (const { public_key } of [project, second]) {
      await assert.rejects(till.sessions.accessToken(public_key), { code: 'invalid_public_key' })
    }
  })

  test('keep their grace period at a second rotation with a longer one', async (t) => {
    const { till, clock, account, project } = await newPlace(t).shop()
    const second = await till.projects.rotateKey(account, { id: project.id, gracePeriod: 60_000 })
    await till.projects.rotateKey(account, { id: project.id, gracePeriod: 3_600_000 })

    clock.pass(60_000)

    await assert.rejects(till.sessions.accessToken(project.public_key), {
      code: 'invalid_public_key',
    })
    await till.sessions.accessToken(second.public_key)
  })

  test('all get their grace period in concurrent rotations, and one is current', async (t) => {
    const place = newPlace(t)
    const { till, clock, account, project } = await place.shop()
    const tills = [till, await place.till()]
    const rotations = Array.from({ length: 10 }, (_, n) =>
      (tills[n % 2] as Till).projects.rotateKey(account, { id: project.id, gracePeriod: 60_000 }),
    )

    const keys = (await Promise.all(rotations)).map(({ public_key }) => public_key)

    for (const key of [project.public_key, ...keys]) await till.sessions.accessToken(key)
    clock.pass(60_000)
    const left = await Promise.all(
      keys.map((key) => till.sessions.accessToken(key).catch(() => undefined)),
    )
    assert.equal(left.filter(Boolean).length, 1)
  })

  test('do not reveal the current key in their grace period', async (t) => {
    const { till, account, project } = await newPlace(t).shop()
    const { public_key } = await till.projects.rotateKey(account, { id: project.id })

    const former = await till.projects.authenticate(project.public_key)
    const session = await till.sessions.init(project.public_key, USER)

    assert.equal(former.public_key, project.public_key)
    assert.equal(session.project.public_key, project.public_key)
    assert.equal((await till.projects.authenticate(public_key)).public_key, public_key)
    assert.equal((await till.projects.get(account, project.id)).public_key, public_key)
  })

  test('have a grace period of one day by default, and of whole seconds up to 30 days', async (t) => {
    const { till, clock, account, project } = await newPlace(t).shop()
    const { id, public_key } = project
    for (const gracePeriod of [-1, 30 * 86_400_000 + 1, 1.5, '60000', null]) {
      const rotation = till.projects.rotateKey(account, { id, gracePeriod } as never)
      await assert.rejects(rotation, { code: 'invalid_request' })
    }
    await till.projects.rotateKey(account, { id })
    clock.pass(86_399_999)
    await till.sessions.accessToken(public_key)
    clock.pass(1)
    await assert.rejects(till.sessions.accessToken(public_key), { code: 'invalid_public_key' })
    await till.projects.rotateKey(account, { id, gracePeriod: 30 * 86_400_000 })
  })

  test('of a disabled project are refused, also in their grace period', async (t) => {
    const { till, account, project } = await newPlace(t).shop()
    await till.projects.rotateKey(account, { id: project.id })
    await till.projects.update(account, { id: project.id, status: 'disabled' })

    const failed = till.sessions.accessToken(project.public_key)
    await assert.rejects(failed, { code: 'project_inactive' })
  })
}
