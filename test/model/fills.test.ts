// run: early
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Account,
  copyStorage,
  createMemoryStorage,
  createTill,
  type Storage,
  type Till,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'

import { createOracle, type Row, type Step, steps } from '../support/model/fills.ts'
import { fc } from '../support/seeds.ts'
import { soakOnly } from '../support/soak.ts'
import { allTargets, type Target } from '../support/targets.ts'
import { createShop, fileOf } from '../support/till.ts'

const MAIN = { store_id: 'main' }
const AT = '2026-01-31T12:00:00Z'
const COLUMNS = ['transaction_id', 'sku', 'purchased_at', 'user_id', 'price', 'currency', 'status']
const HEADER = [...COLUMNS, 'expires_at'].join()

const lineOf = ({ id, user_id = '', price, currency = '', status, expires_at = '' }: Row) =>
  [id, 'gold', AT, user_id, price ?? '', currency, status, expires_at].join()

/** A shop without a default currency, so that a row may have no price and no currency. */
async function createRunner(storage: Storage) {
  const shop = await createShop(createTill({ storage }))
  const { till, account, project_id, token } = shop
  await till.stores.update(account, { ...MAIN, store_config: {} })
  const session = await till.sessions.authenticate(token)
  const oracle = createOracle()
  /** The ids of the imports and recordings, in the order of the oracle's batches. */
  const imports: string[] = []

  const codeOf = (error: unknown) => (error as { code?: string }).code
  const importOfLatest = async () => {
    const { entries } = await storage.listAudit(account.account_id, { limit: 1 })
    return entries[0]?.data?.import_id as string
  }

  const run = async (step: Step): Promise<void> => {
    if (step.do === 'import') {
      const { rows, by } = step
      const file = fileOf([HEADER, ...rows.map(lineOf)].join('\n'))
      const caller = by === 'account' ? account : session
      const expected = oracle.import(rows, by === 'account')
      const result = await till.purchases.import(caller, { ...MAIN, file }).catch(codeOf)
      if (expected === 'conflict') return assert.equal(result, 'invalid_purchases')
      assert.ok(typeof result === 'object', String(result))
      const { import_id, added, skipped, updated, repeated, unequal } = result
      imports.push(import_id)
      const { unequal: ends, ...counts } = expected
      const totals = result.totals
        .map(({ status, currency, rows, total }) => `${status} ${currency} ${rows} ${total}`)
        .sort()
      assert.deepEqual({ added, skipped, updated, repeated, totals }, counts)
      if (by === 'client') return
      const field = { field: 'expires_at', stored: 'different' }
      assert.deepEqual(unequal, ends > 0 ? [{ ...field, rows: ends }] : [])
    } else if (step.do === 'record') {
      const { id, ...row } = step.row
      const input = { ...MAIN, ...row, transaction_id: id, sku: 'gold', purchased_at: AT }

      const expected = oracle.record(step.row)
      const result = await till.purchases.record(account, input).catch(codeOf)
      if (expected === 'conflict') return assert.equal(result, 'invalid_request')
      assert.ok(typeof result === 'object', String(result))
      assert.equal(result.outcome, expected)
      if (expected !== 'skipped') imports.push(await importOfLatest())
      if (!result.purchase) return
      const stored = oracle.list().find((each) => each.id === id)
      assert.deepEqual(shown(result.purchase), stored)
    } else if (step.do === 'undo') {
      const number = imports.length - 1 - step.back
      const import_id = imports[number]
      if (import_id === undefined) return
      if (oracle.batches[number]?.isUndone) {
        await till.imports.undo(account, { import_id, force: step.force })
        return
      }
      const refusal = oracle.refusal(number)
      const attempt = async (force: boolean) => {
        const failure = await till.imports.undo(account, { import_id, force }).catch((e) => e)
        return failure.code === undefined ? 'undone' : (failure.details[0]?.field ?? failure.code)
      }
      const first = await attempt(step.force)
      if (refusal === 'changed') return assert.equal(first, 'undo_refused')
      const isUndone = first === 'undone'
      if (step.force || refusal === undefined) assert.equal(first, 'undone')
      else if (refusal === 'force') assert.equal(first, 'force')
      else assert.ok(isUndone || first === 'force', first)
      if (isUndone) oracle.undo(number)
    } else if (step.do === 'erase') {
      const { user_id, deletes } = step
      const erasure = { project_id, user_id, delete: deletes }
      const { purchases } = await till.users.erase(account, erasure)
      assert.equal(purchases, oracle.erase(user_id, deletes))
    } else if (step.do === 'refund') {
      const key = { ...MAIN, transaction_id: step.id }
      const expected = oracle.refund(step.id)
      const result = await till.purchases.refund(account, key).catch(codeOf)
      if (!expected) return assert.equal(result, 'purchase_not_found')
      assert.ok(typeof result === 'object', String(result))
      assert.equal(result.refunds[0]?.outcome, expected)
      if (expected === 'refunded') imports.push(await importOfLatest())
    } else {
      const key = { ...MAIN, transaction_id: step.id }
      const expected = oracle.deliver(step.id)
      const result = await till.purchases.deliver(account, key).catch(codeOf)
      if (!expected) return assert.equal(result, 'purchase_not_found')
      assert.ok(typeof result === 'object', String(result))
      assert.equal(result.deliveries[0]?.outcome, expected)
    }
  }
  return { shop, run, oracle }
}

/** A purchase as a row of the oracle. */
function shown(purchase: object): Row {
  const {
    transaction_id,
    sku: _,
    purchased_at: __,
    store_id,
    import_id,
    ...others
  } = purchase as {
    readonly [field: string]: unknown
  }
  const { quantity, metadata, ...row } = others
  return { id: transaction_id, ...row } as unknown as Row
}

/** All that the reads say, and what they should say of the rows. */
async function compareReads(till: Till, account: Account, rows: readonly Row[]) {
  const list = await collect(till.purchases.all(account, MAIN))
  const byId = (all: readonly Row[]) => [...all].sort((a, b) => (a.id < b.id ? -1 : 1))
  assert.deepEqual(byId(list.map(shown)), rows)
  for (const user_id of ['ann', 'bob']) {
    const own = rows.filter((each) => each.user_id === user_id)
    const found = await collect(till.purchases.all(account, { ...MAIN, user_id }))
    assert.deepEqual(byId(found.map(shown)), own)
    const { owned } = await till.purchases.owned(account, { ...MAIN, user_id })
    const held = own.filter(({ status }) => status === 'purchased')
    const ends = held.map(({ expires_at }) => expires_at)
    const end = ends.includes(undefined) ? undefined : ends.sort().at(-1)
    assert.equal(owned[0]?.quantity ?? 0, held.length)
    assert.equal(owned[0]?.expires_at, end)
  }
  const groups = await till.purchases.summarize(account, { ...MAIN, by: ['currency'] })
  for (const currency of ['', 'USD']) {
    const group = rows.filter((each) => (each.currency ?? '') === currency)
    const found = groups.find((each) => each.currency === currency)
    const total = (status: string) =>
      String(group.reduce((sum, each) => sum + (each.status === status ? (each.price ?? 0) : 0), 0))
    const buyers = group.filter(({ status }) => status === 'purchased')
    assert.equal(found?.revenue ?? '0', total('purchased'))
    assert.equal(found?.refunded_total ?? '0', total('refunded'))
    const users = new Set(buyers.map(({ user_id }) => user_id).filter(Boolean))
    assert.equal(found?.buyers ?? 0, users.size)
  }
}

const property = (open: Target['open']) =>
  fc.asyncProperty(steps, async (steps) => {
    // The next sequence takes the same schema of PostgreSQL.
    const ends: (() => unknown)[] = []
    const storage = await open({ after: (end: () => unknown) => void ends.push(end) })
    const { shop, run, oracle } = await createRunner(storage)
    const { till, account } = shop
    try {
      for (const step of steps) {
        await run(step)
        await compareReads(till, account, oracle.list())
        const { purchases } = await till.purchases.list(account, { ...MAIN, undelivered: true })
        const waiting = purchases.map(({ transaction_id }) => transaction_id)
        assert.deepEqual(waiting.sort(), oracle.undelivered())
      }
      assert.deepEqual(await till.operator.check(), [])
      const target = createMemoryStorage()
      const copy = createTill({ storage: target })
      await copyStorage(storage, target)
      await compareReads(copy, account, oracle.list())
      assert.deepEqual(await copy.operator.check(), [])
      await copy.close()
    } finally {
      for (const end of ends.reverse()) await end()
    }
  })

/** More in memory, where they are cheaper. */
const SEQUENCES: { readonly [storage: string]: number } = {
  memory: soakOnly ? 80 : 200,
  PostgreSQL: soakOnly ? 5 : 25,
}

for (const { name, open } of await allTargets()) {
  const numRuns = SEQUENCES[name]
  if (numRuns === undefined) continue
  test(`fills, undos, erasures and refunds have the outcomes of an oracle, in ${name}`, async () => {
    await fc.assert(property(open), { numRuns, includeErrorInReport: true })
  })
}
