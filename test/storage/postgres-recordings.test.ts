// run: early
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { PostgresOptions, Storage } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createSignal } from '../support/server.ts'
import { importRows, openImport, statuses, transactions } from '../support/storage/imports.ts'
import { addRows, insertShops, MAIN, newRow } from '../support/storage/records.ts'

const server = await startPostgres()
const GAP = 2 ** 16
const PENDING = { status: 'pending' } as const
const REFUNDED = { status: 'refunded' } as const

/**
 * A storage with shops. `hold` delays the next statement that begins with a text. `errors` has the
 * codes of all errors of the server.
 */
async function openShops(t: TestContext, options: PostgresOptions = {}) {
  const url = await server.emptyDatabase(t)
  const errors: (string | undefined)[] = []
  let held: { text: string; reach(): void; released: Promise<void> } | undefined
  const postgres = drivenBy((text, send) => {
    const sent = () => {
      const query = send()
      query.then(undefined, ({ code }) => errors.push(code))
      return query
    }
    if (!held || !text.trimStart().startsWith(held.text)) return sent()
    const { reach, released } = held
    held = undefined
    reach()
    if (!text.startsWith('COPY')) return released.then(sent)
    const query = sent()
    const { writable } = query
    query.writable = async () => {
      const stream = await writable.call(query)
      await released
      return stream
    }
    return query
  })
  const storage = await openPostgres(t, url, { ...options, postgres })
  await insertShops(storage)
  const sql = rawPostgres(t, url)
  const hold = (text: string) => {
    const reached = createSignal()
    const released = createSignal()
    held = { text, reach: reached.give, released: released.given }
    return { reached: reached.given, release: released.give }
  }
  /** Resolves when a transaction waits for a lock. */
  const isWaiting = () =>
    eventuallyHolds(async () => {
      const waiting = await sql`SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`
      assert.ok(waiting.length > 0)
    })
  /** Raises the counter of the store, as this many recorded purchases do. */
  const skipNumbers = (count: number) =>
    sql`UPDATE stores SET last_purchase = last_purchase + ${count}
      WHERE account_id = 'acc_1' AND store_id = 'main'`
  return { storage, errors, url, sql, hold, isWaiting, skipNumbers }
}

/** Resolves to what became of a recording: `busy` while a running import keeps it waiting. */
async function record(storage: Storage, ...row: Parameters<typeof newRow>): Promise<string> {
  const import_id = `rec_${row[0]}_${row[1]?.status ?? 'purchased'}`
  return (await storage.recordPurchase(MAIN, import_id, newRow(...row)))?.outcome ?? 'busy'
}

describe('PostgreSQL purchases recorded during an import', () => {
  for (const ending of ['commit', 'abort'] as const) {
    test(`stop at its first number when it has no row yet, and survive its ${ending}`, async (t) => {
      const { storage, skipNumbers } = await openShops(t)
      await importRows(storage, MAIN, 'imp_1', [newRow(1, PENDING)])
      const current = await openImport(storage, MAIN, 'imp_2')
      await skipNumbers(GAP - 1)

      assert.equal(await record(storage, 2), 'added')
      assert.equal(await record(storage, 3), 'busy')
      const change = { line: 9, transaction_id: 'tx_1', status: 'purchased' } as const
      assert.equal((await current.advance([change])).updated, 1)
      await current[ending]()

      assert.equal(await record(storage, 3), 'added')
      assert.deepEqual(await transactions(storage, MAIN), ['tx_1', 'tx_2', 'tx_3'])
      assert.deepEqual(await storage.check(), [])
    })
  }

  test('stop before the rows that it adds late', async (t) => {
    const { storage, skipNumbers } = await openShops(t)
    const current = await openImport(storage, MAIN, 'imp_1')
    await skipNumbers(GAP)

    assert.equal(await record(storage, 2), 'busy')
    await addRows(current, [newRow(5), newRow(6)])
    assert.equal(await record(storage, 2), 'busy')
    await current.commit()

    assert.equal(await record(storage, 2), 'added')
    assert.deepEqual(await transactions(storage, MAIN), ['tx_5', 'tx_6', 'tx_2'])
  })

  test('have all their numbers when it began during a recording', async (t) => {
    const { storage, sql, isWaiting } = await openShops(t)
    const current = await sql.begin(async (tx) => {
      await tx`SELECT 1 FROM stores FOR UPDATE`
      await tx`UPDATE stores SET last_purchase = ${2 * GAP} WHERE account_id = 'acc_1'`
      const opened = openImport(storage, MAIN, 'imp_1')
      await isWaiting()
      return { opened }
    })
    const opened = await current.opened

    assert.equal(await record(storage, 2), 'added')
    await addRows(opened, [newRow(5)])
    await opened.commit()
    assert.deepEqual(await transactions(storage, MAIN), ['tx_2', 'tx_5'])
  })

  test('do not deadlock with a block that has the same transaction id', async (t) => {
    const { storage, errors, hold, isWaiting } = await openShops(t)
    const current = await openImport(storage, MAIN, 'imp_1')
    const verified = hold('SELECT 1 FROM imports WHERE seq = $1 AND owner = $2')
    const added = addRows(current, [newRow(2), newRow(3)])
    await verified.reached
    const recorded = record(storage, 2)
    await Promise.race([isWaiting(), recorded])
    verified.release()

    assert.equal((await added).added + (await added).skipped, 2)
    await recorded
    await current.commit()
    assert.deepEqual(
      errors.filter((code) => code !== '23505'),
      [],
    )
    assert.deepEqual((await transactions(storage, MAIN)).toSorted(), ['tx_2', 'tx_3'])
  })

  test('wait for a block that was compared with the stored purchases', async (t) => {
    const { storage, hold, isWaiting } = await openShops(t)
    await importRows(storage, MAIN, 'imp_1', [newRow(1)])
    const current = await openImport(storage, MAIN, 'imp_2')
    await addRows(current, [newRow(1)]) // from now on, each block is compared
    const copied = hold('COPY purchases')
    const added = addRows(current, [newRow(1), newRow(2), newRow(3)])
    added.catch(() => {}) // reported below
    await copied.reached

    const recorded = record(storage, 2)
    await Promise.race([isWaiting(), recorded])
    copied.release()

    assert.equal((await added).added, 2)
    assert.equal(await recorded, 'busy')
    await current.commit()
    assert.deepEqual(await transactions(storage, MAIN), ['tx_1', 'tx_2', 'tx_3'])
  })

  for (const by of ['a row', 'a later status'] as const) {
    test(`keep a refund that arrives while it advances the purchase by ${by}`, async (t) => {
      const { storage, hold, isWaiting } = await openShops(t)
      await importRows(storage, MAIN, 'imp_1', [newRow(1, PENDING)])
      const current = await openImport(storage, MAIN, 'imp_2')
      const changed = hold('INSERT INTO purchase_changes')
      const change = { line: 1, transaction_id: 'tx_1', status: 'purchased' } as const
      const advanced = by === 'a row' ? addRows(current, [newRow(1)]) : current.advance([change])
      await changed.reached

      const recorded = record(storage, 1, REFUNDED)
      await Promise.race([isWaiting(), recorded])
      changed.release()
      await advanced
      await current.commit()

      if ((await recorded) === 'busy') assert.equal(await record(storage, 1, REFUNDED), 'updated')
      assert.deepEqual(await statuses(storage, MAIN), ['refunded'])
    })
  }

  test('are shown again by the next start where an import has hidden them', async (t) => {
    const { storage, sql, url } = await openShops(t)
    for (const line of [2, 3, 4]) await record(storage, line)
    const current = await openImport(storage, MAIN, 'imp_1')
    await addRows(current, [newRow(5)])
    await sql`UPDATE stores SET last_purchase = 1 WHERE account_id = 'acc_1' AND store_id = 'main'`
    assert.equal(await record(storage, 6), 'busy')
    assert.match((await storage.check()).join(), /^1 stores hide purchases/)

    const reading = await openPostgres(t, url, { upgrade: false })
    const [first, second] = [await openPostgres(t, url), await openPostgres(t, url)]

    const repair = 'The store main of acc_1 hid purchases: its counter was 1 and is now 3'
    assert.deepEqual(
      [reading, first, second].map(({ repairs }) => repairs),
      [[], [repair], []],
    )
    assert.equal(await record(second, 6), 'added')
    assert.deepEqual(await transactions(second, MAIN), ['tx_2', 'tx_3', 'tx_4', 'tx_6'])
    await current.commit()
    assert.deepEqual((await transactions(second, MAIN)).at(-1), 'tx_5')
    assert.deepEqual(await storage.check(), [])
  })

  test('do not deadlock with an erasure', async (t) => {
    const { storage, errors, hold, isWaiting } = await openShops(t)
    await importRows(storage, MAIN, 'imp_1', [newRow(1, { user_id: 'ann' })])
    const authority = { store: MAIN }
    const marked = hold('INSERT INTO erased_purchases')
    const erased = storage.erasePurchases(MAIN, 'imp_2', {
      user_id: 'ann',
      deletes: false,
      authority,
    })
    await marked.reached
    const recorded = storage.recordPurchase(MAIN, 'rec_1', newRow(2), { authority })
    await isWaiting()
    marked.release()

    assert.equal(await erased, true)
    await recorded
    assert.deepEqual(errors, [])
  })
})
