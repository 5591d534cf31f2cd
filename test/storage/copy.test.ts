import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { copyStorage, createMemoryStorage, createTill, type Storage } from '../../lib/index.ts'
import { all } from '../support/collect.ts'
import { allTargets } from '../support/targets.ts'
import { createShop, fileOf } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'

/** Fills a storage with records of every kind. */
async function fill(storage: Storage): Promise<void> {
  const till = createTill({ storage })
  for (const name of ['Studio', 'Other']) {
    const shop = await createShop(till, name)
    const { account, project } = shop
    const added = await till.accounts.addKey(account)
    await till.accounts.revokeKey(account, added.key_id)
    await till.accounts.addKey(account)
    for (const gracePeriod of [3_600_000, 7_200_000]) {
      await till.projects.rotateKey(account, { id: project.id, gracePeriod })
    }
    const gem = { store_id: 'main', name: 'gem', display_name: 'Gem', price: '99' }
    const options = { idempotencyKey: `key of ${name}` }
    await till.items.create(account, { ...gem, type: 'consumable', meta: { z: 1, a: [] } }, options)
    const silver = { ...gem, name: 'silver', type: 'consumable' as const }
    const { id } = await till.items.create(account, silver)
    await till.items.update(account, { id, price: '199' })
    await till.items.archive(account, id)
    await till.sessions.revoke(account, { project_id: project.id, user_id: 'ann' })
    await till.sessions.revoke(account, { project_id: project.id })
    for (const file of [
      `${HEADER}a,gold,2024-03-01T12:34:56Z,ann,499,USD,pending\nb,gem,1709296496,,,,refunded\n`,
      `${HEADER}a,gold,2024-03-01T12:34:56Z,ann,499,USD,purchased\nc,gem,1709296496,bob,1,USD,\n`,
    ]) {
      await till.purchases.import(account, { store_id: 'main', file: fileOf(file) })
    }
    await till.users.erase(account, { project_id: project.id, user_id: 'ann' })
    await till.users.erase(account, { project_id: project.id, user_id: 'bob' }, { delete: true })
  }
  await till.operations.rotateSigningKeys()
}

for (const { name, open, skip } of await allTargets()) {
  describe(`a copy into ${name}`, { skip }, () => {
    test('has all records, and a copy of the copy is equal', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)

      const { counts, checksum } = await copyStorage(source, target)
      assert.deepEqual(counts, {
        signing_keys: 2,
        former_public_keys: 4,
        accounts: 2,
        account_keys: 6,
        idempotency_records: 2,
        projects: 2,
        revocations: 4,
        stores: 2,
        items: 6,
        purchases: 4,
        erased_purchases: 4,
        audit_entries: 39,
        webhook_endpoints: 0,
      })
      const back = createMemoryStorage()
      assert.equal((await copyStorage(target, back)).checksum, checksum)
      assert.deepEqual(await target.check(), [])
    })

    test('leaves out expired idempotency records', async (t) => {
      const source = createMemoryStorage()
      const { account_id } = (await createShop(createTill({ storage: source }))).account
      const idempotency = { account_id, fingerprint: 'f', answer: '{}' }
      const old = '2024-03-01T00:00:00.000Z'
      const expired = { ...idempotency, key: 'a', created_at: old, expires_at: old }
      const kept = {
        ...idempotency,
        key: 'b',
        created_at: '2024-03-02T00:00:00.000Z',
        expires_at: '9999-01-01T00:00:00.000Z',
      }
      // PostgreSQL can list expired records: it deletes only some of them at a time.
      source.listIdempotencyRecords = async () => ({ records: [expired, kept] })
      const target = await open(t)

      assert.equal((await copyStorage(source, target)).counts.idempotency_records, 1)
      assert.deepEqual(await all((page) => target.listIdempotencyRecords(account_id, page)), [kept])
    })

    test('copies idempotency records in batches, reports the count, and continues after the last one', async (t) => {
      const source = createMemoryStorage()
      const { account_id } = (await createShop(createTill({ storage: source }))).account
      const times = {
        created_at: '2024-03-02T00:00:00.000Z',
        expires_at: '9999-01-01T00:00:00.000Z',
      }
      const idempotencyRecords = Array.from({ length: 2500 }, (_, i) => {
        const key = `key_${String((i * 7919) % 2500).padStart(4, '0')}`
        return { account_id, key, fingerprint: 'f', answer: '{"text":"\\"\\u2028"}', ...times }
      })
      await source.insertAudit(...idempotencyRecords.map((idempotency) => ({ idempotency })))
      const target = await open(t)
      const { insertAudit } = target
      const sizes: number[] = []
      target.insertAudit = (...writes) => {
        sizes.push(writes.length)
        return sizes.length === 2
          ? Promise.reject(new Error('connection lost'))
          : insertAudit(...writes)
      }
      await assert.rejects(copyStorage(source, target), { message: 'connection lost' })
      const reported: number[] = []

      const { counts } = await copyStorage(source, target, (step, kind, count) => {
        if (step === 'copying' && kind === 'idempotency_records') reported.push(count)
      })

      assert.equal(counts.idempotency_records, 2500)
      assert.deepEqual(sizes.slice(0, 4), [1000, 1000, 1000, 500])
      assert.equal(reported.at(-1), 2500)
      assert.deepEqual(
        await all((page) => target.listIdempotencyRecords(account_id, page)),
        await all((page) => source.listIdempotencyRecords(account_id, page)),
      )
    })

    test('that was interrupted at any point is finished by the next one', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)
      const broken = new Error('the connection is lost')
      let left = 0
      const failing = Object.fromEntries(
        Object.entries(target).map(([method, work]) => [
          method,
          /^(insert|rotate|openImport|beginCopy|endCopy)/.test(method)
            ? (...args: unknown[]) => {
                if (left-- <= 0) throw broken
                return (work as (...args: unknown[]) => unknown)(...args)
              }
            : work,
        ]),
      ) as unknown as Storage

      for (let allowed = 1; ; allowed += 2) {
        left = allowed
        try {
          await copyStorage(source, failing)
          break
        } catch (error) {
          assert.equal(error, broken)
          await assert.rejects(target.ping(), { message: /a copy that was not finished/ })
        }
      }
      await target.ping()
      const { checksum } = await copyStorage(source, target)
      assert.equal(checksum, (await copyStorage(source, createMemoryStorage())).checksum)
    })

    test('waits until the import of an interrupted copy ends', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)
      let refusals = 2
      const { openImport } = target
      target.openImport = async (...args) => (refusals-- > 0 ? undefined : openImport(...args))

      assert.equal((await copyStorage(source, target)).counts.purchases, 4)
    })

    test('is refused when the target changed since, and does not change it', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)
      await copyStorage(source, target)
      await createShop(createTill({ storage: target }), 'Late')
      await createShop(createTill({ storage: source }), 'Later')
      const before = await target.listAudit(undefined, { limit: 1000 })

      await assert.rejects(copyStorage(source, target), { code: 'invalid_request' })
      await assert.rejects(copyStorage(target, source), { code: 'invalid_request' })

      await target.ping()
      assert.deepEqual(await target.listAudit(undefined, { limit: 1000 }), before)
    })

    test('is refused when the target has its own signing keys', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)
      await createTill({ storage: target }).operations.rotateSigningKeys()

      await assert.rejects(copyStorage(source, target), { code: 'invalid_request' })
      await target.ping()
    })

    test('is refused when the target has other records', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)
      await createShop(createTill({ storage: target }))

      await assert.rejects(copyStorage(source, target), { code: 'invalid_request' })
    })

    test('fails when the source changes during the copy', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)
      const till = createTill({ storage: source })

      const copying = copyStorage(source, target, (step, kind) => {
        if (step === 'copying' && kind === 'audit_entries')
          void till.accounts.create({ name: 'Late' })
      })
      await assert.rejects(copying, /instead of/)
    })
  })
}
