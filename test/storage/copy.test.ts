import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { copyStorage, createMemoryStorage, createTill, type Storage } from '../../lib/index.ts'
import { purchasePages } from '../../lib/storage/pages.ts'
import { collect } from '../support/collect.ts'
import { allTargets } from '../support/targets.ts'
import { createShop, fileOf } from '../support/till.ts'
import { fill, HEADER } from './fixtures/everything.ts'

/** Makes the second insertion into a table fail. Returns the numbers of rows of all of them. */
function breakSecond(target: Storage, table: string): number[] {
  const { insertRows } = target
  const sizes: number[] = []
  target.insertRows = async (name, rows) => {
    if (name === table && sizes.push(rows.length) === 2) throw new Error('connection lost')
    await insertRows(name, rows)
  }
  return sizes
}

// Memory has the code of SQLite.
const targets = (await allTargets()).filter(({ name }) => name !== 'memory')
let manyPurchases: ReturnType<typeof createManyPurchases> | undefined

for (const { name, open, skip } of targets) {
  describe(`a copy into ${name}`, { skip }, () => {
    test('has all records, and a copy of the copy is equal', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)

      const { counts, checksum } = await copyStorage(source, target)
      assert.deepEqual(counts, {
        signing_keys: 2,
        key_checks: 1,
        former_public_keys: 4,
        accounts: 2,
        account_keys: 6,
        key_uses: 2,
        idempotency_records: 2,
        projects: 2,
        revocations: 4,
        stores: 2,
        items: 6,
        purchases: 6,
        erased_purchases: 4,
        imports: 10,
        status_changes: 2,
        import_overlaps: 2,
        audit_entries: 47,
        webhook_endpoints: 2,
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
      const kept = { ...expired, key: 'b', expires_at: '9999-01-01T00:00:00.000Z' }
      await source.insertAudit({ idempotency: kept }, { idempotency: expired })
      const target = await open(t)

      assert.equal((await copyStorage(source, target)).counts.idempotency_records, 1)
      assert.deepEqual(await target.findIdempotencyRecord(account_id, 'b'), kept)
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
      const sizes = breakSecond(target, 'idempotency_records')
      await assert.rejects(copyStorage(source, target), { message: 'connection lost' })
      const reported: number[] = []

      const { counts } = await copyStorage(source, target, (step, kind, count) => {
        if (step === 'copying' && kind === 'idempotency_records') reported.push(count)
      })

      assert.equal(counts.idempotency_records, 2500)
      assert.deepEqual(sizes, [100, 2000, 2000, 400])
      assert.equal(reported.at(-1), 2500)
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
          /^(insertRows|beginCopy|completeCopy|endCopy)/.test(method)
            ? (...args: unknown[]) => {
                if (left-- <= 0) throw broken
                return (work as (...args: unknown[]) => unknown)(...args)
              }
            : work,
        ]),
      ) as unknown as Storage

      for (let allowed = 1; ; allowed += 3) {
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

    test('of many purchases continues after the last block', async (t) => {
      manyPurchases ??= createManyPurchases()
      const { source, store } = await manyPurchases
      const target = await open(t)
      const sizes = breakSecond(target, 'purchases')
      await assert.rejects(copyStorage(source, target), { message: 'connection lost' })

      assert.equal((await copyStorage(source, target)).counts.purchases, 12_000)
      assert.deepEqual(sizes.slice(0, 4), [100, 2_000, 2_000, 2_000])
      const purchasesIn = async (storage: Storage) =>
        (await collect(purchasePages(storage, store))).flatMap(({ purchases }) => purchases)
      assert.deepEqual(await purchasesIn(target), await purchasesIn(source))
      assert.deepEqual(await target.check(), [])
    })

    test('fails without damage when another copy writes at the same time', async (t) => {
      const source = createMemoryStorage()
      await fill(source)
      const target = await open(t)
      const { insertRows } = target
      target.insertRows = async (...args) => {
        await insertRows(...args)
        await insertRows(...args)
      }

      await assert.rejects(copyStorage(source, target), { code: 'storage_unavailable' })
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

async function createManyPurchases() {
  const source = createMemoryStorage()
  const { till, account, store } = await createShop(createTill({ storage: source }))
  const rows = Array.from(
    { length: 12_000 },
    (_, i) => `t${(i * 7919) % 12_000},gold,1709296496,u,,,\n`,
  )
  const file = fileOf(HEADER + rows.join(''))
  await till.purchases.import(account, { store_id: 'main', file })
  return { source, store }
}
