import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { Storage, UndoOutcome } from '../../lib/storage/port.ts'
import { testsOn } from '../support/databases.ts'
import { DETAILS, importRows, openImport, purchasesIn } from '../support/storage/imports.ts'
import { addRows, insertShops, MAIN, newRow } from '../support/storage/records.ts'

const UNDONE_AT = '2026-02-03T04:05:06.789Z'

const pending = (line: number) => newRow(line, { status: 'pending' })
const refunded = (line: number) => newRow(line, { status: 'refunded' })
const ofAnn = (row: NewPurchase): NewPurchase => ({ ...row, user_id: 'ann' })

const UNDONE = { outcome: 'undone' }
const changed = (rows: number, by: string) => ({ outcome: 'changed', rows, by })
const skipped = (rows: number) => ({ outcome: 'skipped', rows })

/** Imports rows, or records each of them if the id begins with `rec_`. */
async function add(storage: Storage, import_id: string, rows: readonly NewPurchase[]) {
  if (!import_id.startsWith('rec_')) await importRows(storage, MAIN, import_id, rows, DETAILS)
  else for (const row of rows) await storage.recordPurchase(MAIN, import_id, row)
}

async function undo(storage: Storage, import_id: string, force = false): Promise<UndoOutcome> {
  const outcome = await storage.undoImport(MAIN, { import_id, undone_at: UNDONE_AT, force })
  return outcome ?? assert.fail('another import is under way')
}

/** Reads `id status` of each purchase in `main`. */
async function contents(storage: Storage): Promise<string[]> {
  const purchases = await purchasesIn(storage, MAIN)
  return purchases.map(({ transaction_id, status }) => `${transaction_id} ${status}`)
}

type Step =
  | readonly [add: string, ...rows: NewPurchase[]]
  | readonly [undo: string, outcome: { readonly outcome: string }, force?: 'force']
  | readonly [show: 'has', ...contents: string[]]
  | readonly [erase: 'erase' | 'delete', user_id: string]

/** Imports and their undos, with their outcomes and the purchases at some points. */
const CASES: Record<string, readonly Step[]> = {
  'an undo restores the statuses that the import changed': [
    ['imp_1', pending(2), pending(3), newRow(4), newRow(5)],
    ['imp_2', newRow(2), newRow(3), refunded(4), pending(6), newRow(6)],
    [
      'has',
      'tx_2 purchased',
      'tx_3 purchased',
      'tx_4 refunded',
      'tx_5 purchased',
      'tx_6 purchased',
    ],
    ['imp_2', UNDONE],
    ['has', 'tx_2 pending', 'tx_3 pending', 'tx_4 purchased', 'tx_5 purchased'],
    ['imp_1', UNDONE],
    ['has'],
  ],
  'an undo is refused while a later import has changed its rows': [
    ['imp_1', pending(2), pending(3), pending(4)],
    ['imp_2', newRow(2), newRow(3)],
    ['imp_3', refunded(2), refunded(4)],
    ['imp_1', changed(3, 'imp_3'), 'force'],
    ['imp_2', changed(1, 'imp_3'), 'force'],
    ['has', 'tx_2 refunded', 'tx_3 purchased', 'tx_4 refunded'],
    ['imp_3', UNDONE],
    ['imp_2', UNDONE],
    ['has', 'tx_2 pending', 'tx_3 pending', 'tx_4 pending'],
  ],
  'an undone import no longer counts as one that skipped rows': [
    ['imp_1', newRow(2)],
    ['imp_2', newRow(2)],
    ['imp_2', UNDONE],
    ['imp_1', UNDONE],
  ],
  'an undo of statuses needs force when a later import skipped those rows': [
    ['imp_1', pending(2)],
    ['imp_2', newRow(2)],
    ['imp_3', newRow(2)],
    ['imp_2', skipped(1)],
    ['imp_2', UNDONE, 'force'],
    ['has', 'tx_2 pending'],
  ],
  'an undo of statuses needs force when a recorded purchase repeats them later': [
    ['imp_1', pending(2), pending(3), newRow(4)],
    ['imp_2', newRow(2), newRow(3)],
    ['rec_1', newRow(4)],
    ['imp_3', refunded(3)],
    ['rec_2', newRow(2)],
    ['imp_3', UNDONE],
    ['imp_2', skipped(1)],
    ['has', 'tx_2 purchased', 'tx_3 purchased', 'tx_4 purchased'],
    ['imp_2', UNDONE, 'force'],
    ['has', 'tx_2 pending', 'tx_3 pending', 'tx_4 purchased'],
  ],
  'an undo is refused when a recorded purchase changed a row of the import': [
    ['imp_1', pending(2), pending(3)],
    ['imp_2', newRow(3)],
    ['rec_1', newRow(2)],
    ['rec_2', refunded(3)],
    ['imp_1', changed(2, 'rec_2'), 'force'],
    ['imp_2', changed(1, 'rec_2'), 'force'],
    ['rec_2', UNDONE],
    ['has', 'tx_2 purchased', 'tx_3 purchased'],
    ['imp_2', UNDONE],
    ['rec_1', UNDONE],
    ['has', 'tx_2 pending', 'tx_3 pending'],
    ['imp_1', UNDONE],
    ['has'],
  ],
  'a recorded purchase that an import has already is removed only by force': [
    ['imp_1', newRow(2), newRow(3)],
    ['rec_1', newRow(2)],
    ['rec_2', newRow(4)],
    ['rec_3', newRow(4)],
    ['imp_1', skipped(1)],
    ['rec_2', UNDONE],
    ['has', 'tx_2 purchased', 'tx_3 purchased'],
    ['imp_1', UNDONE, 'force'],
    ['has'],
  ],
  'an undone import whose user was erased never comes back with the user': [
    ['imp_1', ofAnn(newRow(2)), newRow(3, { user_id: 'bob' })],
    ['erase', 'ann'],
    ['imp_1', UNDONE],
    ['imp_2', ofAnn(newRow(2)), newRow(3, { user_id: 'bob' })],
    ['has', 'tx_3 purchased'],
  ],
  'a purchase that was deleted with its user does not prevent the undo of its import': [
    ['imp_1', ofAnn(pending(2)), pending(3)],
    ['imp_2', ofAnn(newRow(2)), newRow(3)],
    ['imp_3', ofAnn(refunded(2))],
    ['delete', 'ann'],
    ['imp_2', UNDONE],
    ['has', 'tx_3 pending'],
    ['imp_1', UNDONE],
    ['has'],
  ],
}

const test = testsOn(insertShops)

for (const [title, steps] of Object.entries(CASES)) {
  test(title, async (storage) => {
    for (const [number, [id, ...rest]] of steps.entries()) {
      const [first, force] = rest as [object | undefined, unknown]
      if (id === 'has') assert.deepEqual(await contents(storage), rest, `step ${number}`)
      else if (typeof first === 'string') {
        const erasure = { user_id: first, deletes: id === 'delete' }
        assert.ok(await storage.erasePurchases(MAIN, 'imp_lease', erasure))
      } else if (first && 'outcome' in first) {
        assert.deepEqual(await undo(storage, id, force === 'force'), first, `step ${number}`)
      } else await add(storage, id, rest as NewPurchase[])
    }
    assert.deepEqual(await storage.check(), [])
  })
}

test('an undo waits for an import under way, needs its authority, and keeps the details of its own', async (storage) => {
  await add(storage, 'imp_1', [newRow(2)])
  const current = await openImport(storage, MAIN, 'imp_2')
  const request = { import_id: 'imp_1', undone_at: UNDONE_AT, force: false }

  assert.equal(await storage.undoImport(MAIN, request), undefined)

  await current.abort()
  const refused = storage.undoImport(MAIN, request, { authority: { key_id: 'key_none' } })
  await assert.rejects(refused, { code: 'account_key_required' })
  assert.deepEqual(await contents(storage), ['tx_2 purchased'])
  assert.deepEqual(await storage.undoImport(MAIN, request), UNDONE)
  const later = { ...request, undone_at: '2027-01-01T00:00:00.000Z' }
  assert.deepEqual(await storage.undoImport(MAIN, later), UNDONE)
  const record = await storage.findImport(MAIN.account_id, 'imp_1')
  assert.deepEqual([record?.undone_at, record?.sha256], [UNDONE_AT, DETAILS.sha256])
})

test('an import is compared with purchases that were recorded while it ran', async (storage) => {
  await add(storage, 'imp_1', [pending(2)])
  const current = await openImport(storage, MAIN, 'imp_2')
  await add(storage, 'rec_1', [pending(3)])
  await add(storage, 'rec_2', [newRow(2)])
  await addRows(current, [refunded(2), newRow(3)])
  await current.commit({}, DETAILS)

  assert.deepEqual(await undo(storage, 'rec_1', true), changed(1, 'imp_2'))
  assert.deepEqual(await undo(storage, 'rec_2', true), changed(1, 'imp_2'))
  assert.deepEqual(await undo(storage, 'imp_2'), UNDONE)
  assert.deepEqual(await contents(storage), ['tx_2 purchased', 'tx_3 pending'])
  assert.deepEqual(await undo(storage, 'rec_2'), UNDONE)
  assert.deepEqual(await contents(storage), ['tx_2 pending', 'tx_3 pending'])
})

test('an undo of a recorded purchase needs force when an import that began earlier repeats it', async (storage) => {
  await add(storage, 'imp_1', [pending(2), pending(3)])
  await add(storage, 'rec_1', [newRow(3)])
  const current = await openImport(storage, MAIN, 'imp_2')
  await add(storage, 'rec_2', [newRow(2)])
  await addRows(current, [newRow(2)])
  await current.commit({}, DETAILS)

  assert.deepEqual(await undo(storage, 'rec_2'), skipped(1))
  assert.deepEqual(await contents(storage), ['tx_2 purchased', 'tx_3 purchased'])
  assert.deepEqual(await undo(storage, 'imp_2'), UNDONE)
  assert.deepEqual(await undo(storage, 'rec_2'), UNDONE)
  assert.deepEqual(await contents(storage), ['tx_2 pending', 'tx_3 purchased'])
})

test('a recorded purchase waits for the undo of its import, or the undo is refused', async (storage) => {
  const outcomes = new Set<string>()
  for (let turns = 0; turns < 20; turns++) {
    await add(storage, `imp_${turns}`, [pending(turns)])
    const undoing = undo(storage, `imp_${turns}`)
    for (let i = 0; i < turns; i++) await setImmediate()
    const recorded = await storage.recordPurchase(MAIN, `rec_${turns}`, newRow(turns))
    outcomes.add(`${recorded?.outcome ?? 'busy'}, ${(await undoing).outcome}`)
  }

  const possible = ['added, undone', 'busy, undone', 'updated, changed']
  assert.deepEqual(
    [...outcomes].filter((outcome) => !possible.includes(outcome)),
    [],
  )
  assert.deepEqual(await storage.check(), [])
})

test('the history of a purchase is in the order of commits', async (storage) => {
  await add(storage, 'imp_1', [pending(2)])
  const current = await openImport(storage, MAIN, 'imp_2')
  await add(storage, 'rec_1', [newRow(2)])
  await addRows(current, [refunded(2)])
  await current.commit({}, DETAILS)

  const changes = await storage.listStatusChanges(MAIN, 'tx_2')

  assert.deepEqual(
    changes.map(({ import_id, after }) => `${import_id} ${after}`),
    ['rec_1 purchased', 'imp_2 refunded'],
  )
})
