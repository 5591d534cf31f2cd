import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry } from '../../lib/domain/audit.ts'
import type { Receipt } from '../../lib/domain/receipt.ts'
import type { Storage, StoreKey } from '../../lib/storage/port.ts'
import type { OpenStorage } from './contract.ts'
import {
  AT,
  FOREIGN,
  insertAccounts,
  insertProjects,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newProject,
  newRow,
  newStore,
  SIDE,
  stage,
} from './fixtures/records.ts'

const LATER = '2024-03-02T12:34:56.789Z'

/** The part of the contract that is about keys, tokens and what ends them. */
export function describeCredentials(open: OpenStorage): void {
  test('each of several keys of an account opens it, and tells which one it was', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertAccountKey(newKey('acc_1', 'hash-b'))

    const found = await storage.findAccountByKeyHash('hash-b')
    assert.deepEqual(found, { ...newAccount('acc_1'), key_id: 'key_hash-b' })
    assert.equal((await storage.findAccountByKeyHash('hash-1'))?.key_id, 'key_hash-1')
  })

  test('a revoked key opens nothing, stays in the list and can not be revoked again', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const key = newKey('acc_1', 'hash-b')
    await storage.insertAccountKey(key)
    await storage.findAccountByKeyHash('hash-b')

    assert.equal(await storage.revokeAccountKey('acc_1', 'key_hash-b', LATER), true)
    assert.equal(await storage.revokeAccountKey('acc_1', 'key_hash-b', AT), false)

    assert.equal(await storage.findAccountByKeyHash('hash-b'), undefined)
    const listed = await storage.listAccountKeys('acc_1')
    assert.deepEqual(listed, [newKey('acc_1', 'hash-1'), { ...key, revoked_at: LATER }])
  })

  test("another account's key and an unknown one can not be revoked", async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)

    assert.equal(await storage.revokeAccountKey('acc_1', 'key_hash-2', AT), false)
    assert.equal(await storage.revokeAccountKey('acc_1', 'key_none', AT), false)

    assert.equal((await storage.findAccountByKeyHash('hash-2'))?.account_id, 'acc_2')
  })

  test('a rotation for a project that is not there leaves nothing in the audit log', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)

    await storage.rotatePublicKey(
      'prj_none',
      { public_key: 'pk_new', former_until: LATER },
      { audit: newEntry() },
    )

    assert.deepEqual(await storage.listFormerPublicKeys(), [])
    assert.deepEqual(await storage.listAudit(undefined, { limit: 10 }), { entries: [] })
  })

  test('a rotated public key finds the project, the one before is a former key', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    await storage.findProjectByPublicKey('pk_prj_1')

    const rotation = { public_key: 'pk_new', former_until: LATER }
    await storage.rotatePublicKey('prj_1', rotation)

    const project = newProject('prj_1', { public_key: 'pk_new' })
    assert.deepEqual(await storage.findProjectByPublicKey('pk_new'), project)
    assert.deepEqual(await storage.findProject('prj_1'), project)
    assert.equal(await storage.findProjectByPublicKey('pk_prj_1'), undefined)
    const former = { public_key: 'pk_prj_1', project_id: 'prj_1', expires_at: LATER }
    assert.deepEqual(await storage.findFormerPublicKey('pk_prj_1'), former)
    assert.equal(await storage.findFormerPublicKey('pk_new'), undefined)
    assert.deepEqual(await storage.listFormerPublicKeys(), [former])
  })

  test('former public keys expire no later than the one that follows them', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    await storage.rotatePublicKey('prj_1', { public_key: 'pk_2', former_until: LATER })
    await storage.rotatePublicKey('prj_2', { public_key: 'pk_b', former_until: LATER })
    await storage.findFormerPublicKey('pk_prj_1')

    await storage.rotatePublicKey('prj_1', { public_key: 'pk_3', former_until: AT })
    await storage.rotatePublicKey('prj_1', { public_key: 'pk_4', former_until: LATER })

    const expiries = ['pk_prj_1', 'pk_2', 'pk_3', 'pk_prj_2'].map(async (public_key) => {
      return (await storage.findFormerPublicKey(public_key))?.expires_at
    })
    assert.deepEqual(await Promise.all(expiries), [AT, AT, LATER, LATER])
  })

  test('a store is replaced by what a change makes of it', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.findStore('acc_1', 'main')
    const changed = newStore('main', { status: 'paused', store_config: { currency: 'EUR' } })

    const updated = await storage.updateStore(MAIN, (current) => {
      assert.deepEqual(current, newStore('main'))
      return changed
    })

    assert.deepEqual(updated, changed)
    assert.deepEqual(await storage.findStore('acc_1', 'main'), changed)
    assert.equal((await storage.findStore('acc_2', 'main'))?.status, 'active')
    const missing = { account_id: 'acc_1', store_id: 'none' }
    assert.equal(await storage.updateStore(missing, () => assert.fail('asked')), undefined)
  })

  test('deleted signing keys are gone, unknown ones no matter', async (t) => {
    const storage = await open(t)
    for (const kid of ['a', 'b', 'c']) {
      await storage.insertSigningKey({ kid, secret: new Uint8Array(32), created_at: AT })
    }

    await storage.deleteSigningKeys(['a', 'c', 'none'])

    const kids = (await storage.listSigningKeys()).map(({ kid }) => kid)
    assert.deepEqual(kids, ['b'])
  })

  test('the later bound of a project and its user counts, and no bound moves back', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    assert.equal(await storage.findTokenBound('prj_1', 'ann'), 0)

    await storage.insertTokenBound({ project_id: 'prj_1', user_id: 'ann', not_after: 200 })
    await storage.insertTokenBound({ project_id: 'prj_1', user_id: '', not_after: 100 })
    await storage.insertTokenBound({ project_id: 'prj_1', user_id: 'ann', not_after: 150 })

    assert.equal(await storage.findTokenBound('prj_1', 'ann'), 200)
    assert.equal(await storage.findTokenBound('prj_1', 'bob'), 100)
    assert.equal(await storage.findTokenBound('prj_2', 'ann'), 0)
    assert.equal((await storage.listTokenBounds('prj_1')).length, 2)

    await storage.insertTokenBound({ project_id: 'prj_1', user_id: '', not_after: 300 })
    assert.equal(await storage.findTokenBound('prj_1', 'ann'), 300)
  })

  test('a storage answers a ping and finds nothing wrong with itself', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await storage.openImport(MAIN, 'imp_1')
    assert.ok(current)
    await stage(current, [newRow(2), newRow(3)])
    await current.commit()

    await storage.ping()
    assert.deepEqual(await storage.check(), [])
  })
}

export function describeItemPages(open: OpenStorage): void {
  test('pages follow one another without a gap or a repeat, whatever their size', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const names = ['e', 'b', 'd', 'a', 'c']
    for (const name of names) {
      await storage.insertItem(newItem(name))
      await storage.insertItem(newItem(name, { id: `itm_side_${name}`, store_id: 'side' }))
    }

    for (const limit of [1, 2, 3, 4, 5, 6]) {
      const read: string[] = []
      let after: string | undefined
      do {
        const page = await storage.listItems(
          MAIN,
          after === undefined ? { limit } : { limit, after },
        )
        assert.ok(page.items.length <= limit)
        read.push(...page.items.map(({ name }) => name))
        after = page.next
      } while (after !== undefined)
      assert.deepEqual(read, names)
    }
  })

  test('a page that holds the last item has no next', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('a'))
    await storage.insertItem(newItem('b'))

    assert.equal((await storage.listItems(MAIN, { limit: 2 })).next, undefined)
    assert.equal((await storage.listItems(MAIN, { limit: 1 })).next, 'itm_a')
    assert.deepEqual((await storage.listItems(FOREIGN, { limit: 2 })).items, [])
  })

  test('a page ends once its items have a mebibyte of text, and has always one', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const long = { metadata: { text: 'x'.repeat(400_000) } }
    const longest = { metadata: { text: 'x'.repeat(1_500_000) } }
    const described = { description: 'x'.repeat(400_000) }
    await storage.insertItems([
      ...['a', 'b', 'c', 'd'].map((name) => newItem(name, long)),
      ...['e', 'f'].map((name) => newItem(name, longest)),
      ...['g', 'h', 'i'].map((name) => newItem(name, described)),
    ])

    const pages: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await storage.listItems(MAIN, { limit: 100, ...(after && { after }) })
      pages.push(page.items.map(({ name }) => name).join(''))
      after = page.next
      if (after === undefined) break
    }

    assert.deepEqual(pages, ['abc', 'de', 'f', 'ghi'])
    assert.equal((await storage.listItems(MAIN, { limit: 2 })).next, 'itm_b')
  })

  test('many items at once come in their order, those that are there stay as they are', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('b'))
    await storage.listItems(MAIN, { limit: 10 })

    const again = newItem('b', { display_name: 'Again' })
    await storage.insertItems([newItem('c'), again, newItem('a')])
    await storage.insertItems([])

    assert.deepEqual(await itemsOf(storage, MAIN), [newItem('b'), newItem('c'), newItem('a')])
  })

  test('the revision of a list differs after each item, and stays while there is none', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const revisions = [await revisionOf(storage, MAIN)]
    for (const name of ['a', 'b', 'c']) {
      await storage.insertItem(newItem(name))
      revisions.push(await revisionOf(storage, MAIN))
    }
    assert.equal(new Set(revisions).size, 4)

    await storage.insertItem(newItem('d', { store_id: 'side' }))
    await storage.insertItem(newItem('a', { id: 'itm_again' }))
    assert.equal(await revisionOf(storage, MAIN), revisions[3])
    assert.notEqual(await revisionOf(storage, SIDE), await revisionOf(storage, FOREIGN))
  })
}

async function revisionOf(storage: Storage, store: StoreKey): Promise<string> {
  const { revision } = await storage.listItems(store, { limit: 1 })
  return revision
}

function newEntry(change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    at: AT,
    actor: 'key:key_hash-1',
    action: 'item.create',
    subject: 'itm_gold',
    account_id: 'acc_1',
    request_id: 'req-1',
    ...change,
  }
}

function newReceipt(change: Partial<Receipt> = {}): Receipt {
  return {
    account_id: 'acc_1',
    key: 'once',
    fingerprint: 'print',
    answer: '{"id":"itm_gold"}',
    created_at: AT,
    expires_at: LATER,
    ...change,
  }
}

async function auditOf(storage: Storage, account_id?: string) {
  return (await storage.listAudit(account_id, { limit: 100 })).entries
}

/** The part of the contract that is about what is written together with a change. */
export function describeTrails(open: OpenStorage): void {
  test('every change writes its entry of the audit log with it, in order', async (t) => {
    const storage = await open(t)
    const entry = (subject: string) => ({ audit: newEntry({ subject }) })
    await storage.insertAccount(newAccount('acc_1'), newKey('acc_1', 'hash-1'), entry('1'))
    await storage.insertAccountKey(newKey('acc_1', 'hash-b'), entry('2'))
    await storage.revokeAccountKey('acc_1', 'key_hash-b', AT, entry('3'))
    await storage.insertProject(newProject('prj_1'), entry('4'))
    await storage.updateProject('prj_1', (project) => project, entry('5'))
    const rotation = { public_key: 'pk_new', former_until: LATER }
    await storage.rotatePublicKey('prj_1', rotation, entry('6'))
    await storage.insertStore(newStore('main'), entry('7'))
    await storage.updateStore(MAIN, (store) => store, entry('8'))
    await storage.insertItem(newItem('gold'), entry('9'))
    const key = { kid: 'kid', secret: new Uint8Array(32), created_at: AT }
    await storage.insertSigningKey(key, entry('10'))
    const bound = { project_id: 'prj_1', user_id: '', not_after: 1 }
    await storage.insertTokenBound(bound, entry('11'))
    const current = await storage.openImport(MAIN, 'imp_1')
    await current?.finish()
    await current?.commit(entry('12'))
    await storage.insertTrail(entry('13'), entry('14'))

    const entries = await auditOf(storage)
    assert.deepEqual(
      entries.map(({ subject }) => subject),
      ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12', '13', '14'],
    )
    assert.deepEqual(entries[8], newEntry({ subject: '9' }))
  })

  test('what changes nothing leaves no entry', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const trail = { audit: newEntry() }

    await storage.insertItem(newItem('gold', { id: 'itm_again' }), trail)
    await storage.insertStore(newStore('main'), trail)
    await storage.updateProject('prj_none', (project) => project, trail)
    await storage.updateStore({ account_id: 'acc_1', store_id: 'none' }, (store) => store, trail)
    await storage.revokeAccountKey('acc_1', 'key_none', AT, trail)
    const refused = storage.updateProject(
      'prj_1',
      () => {
        throw new Error('refused')
      },
      trail,
    )
    await assert.rejects(refused)

    assert.deepEqual(await auditOf(storage), [])
  })

  test('the log is read page by page, also of one account alone', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    for (let i = 0; i < 5; i++) {
      const account_id = i % 2 === 0 ? 'acc_1' : 'acc_2'
      const audit = newEntry({ subject: String(i), account_id })
      await storage.insertAccountKey(newKey(account_id, `hash-${i}-new`), { audit })
    }

    const first = await storage.listAudit(undefined, { limit: 3 })
    assert.ok(first.next)
    const second = await storage.listAudit(undefined, { limit: 3, after: first.next })
    assert.equal(second.next, undefined)
    const subjects = [...first.entries, ...second.entries].map(({ subject }) => subject)
    assert.deepEqual(subjects, ['0', '1', '2', '3', '4'])
    const own = (await auditOf(storage, 'acc_2')).map(({ subject }) => subject)
    assert.deepEqual(own, ['1', '3'])
  })

  test('a receipt is kept with what it is for, and a second one inserts nothing', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const trail = { receipt: newReceipt(), audit: newEntry() }

    assert.equal(await storage.insertItem(newItem('gold'), trail), 'inserted')
    assert.equal(await storage.insertItem(newItem('gem'), trail), 'repeated')
    assert.equal(await storage.insertStore(newStore('more'), trail), 'repeated')
    assert.equal(await storage.insertProject(newProject('prj_9'), trail), 'repeated')

    assert.deepEqual(await storage.findReceipt('acc_1', 'once'), newReceipt())
    assert.deepEqual(await itemsOf(storage, MAIN), [newItem('gold')])
    assert.equal(await storage.findProject('prj_9'), undefined)
    assert.equal((await auditOf(storage)).length, 1)
  })

  test('a repeat is told before a name that its first sending took', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const trail = { receipt: newReceipt() }
    await storage.insertItem(newItem('gold'), trail)

    assert.equal(await storage.insertItem(newItem('gold'), trail), 'repeated')
  })

  test('what is taken leaves no receipt', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    const again = newItem('gold', { id: 'itm_again' })
    assert.equal(await storage.insertItem(again, { receipt: newReceipt() }), 'taken')

    assert.equal(await storage.findReceipt('acc_1', 'once'), undefined)
  })

  test('receipts are one to an account and key, and an expired one makes room', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('a'), { receipt: newReceipt() })
    const foreign = newReceipt({ account_id: 'acc_2' })
    const other = newItem('b', { account_id: 'acc_2', project_id: 'prj_foreign' })
    assert.equal(await storage.insertItem(other, { receipt: foreign }), 'inserted')

    const next = newReceipt({ created_at: LATER, expires_at: '2024-03-03T12:34:56.789Z' })
    assert.equal(await storage.insertItem(newItem('c'), { receipt: next }), 'inserted')

    assert.deepEqual(await storage.findReceipt('acc_1', 'once'), next)
  })

  test("an account's receipts are listed, without another's", async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const receipts = ['b', 'a'].map((key) => newReceipt({ key }))
    const foreign = newReceipt({ account_id: 'acc_2' })
    await storage.insertTrail(...[...receipts, foreign].map((receipt) => ({ receipt })))

    assert.deepEqual(await storage.listReceipts('acc_1'), [newReceipt({ key: 'a' }), receipts[0]])
    assert.deepEqual(await storage.listReceipts('acc_2'), [foreign])
  })

  test('of two that send one receipt at once, one inserts', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const trail = { receipt: newReceipt() }

    const inserted = await Promise.all([
      storage.insertItem(newItem('a'), trail),
      storage.insertItem(newItem('b'), trail),
    ])

    assert.deepEqual(inserted.toSorted(), ['inserted', 'repeated'])
    assert.equal((await itemsOf(storage, MAIN)).length, 1)
  })
}

export function describeBuckets(open: OpenStorage): void {
  // Long enough for what the test itself takes to make no difference.
  const HOUR = 3_600_000
  const hours = (waits: ReadonlyMap<string, number>) =>
    [...waits].sort().map(([bucket, wait]) => [bucket, Math.round(wait / HOUR)])

  test('a bucket adds up what all take from it, and the others are left alone', async (t) => {
    const storage = await open(t)
    const charge = (...charges: [string, number][]) =>
      storage.chargeBuckets(new Map(charges.map(([bucket, each]) => [bucket, each * HOUR])), 0)

    assert.deepEqual(hours(await charge(['b', 3], ['a', 2])), [
      ['a', 2],
      ['b', 3],
    ])
    assert.deepEqual(hours(await charge(['a', 5])), [['a', 7]])
    const many = await Promise.all([1, 2, 3, 4].map(() => charge(['c', 1], ['b', 1], ['d', 1])))
    assert.deepEqual(new Set(many.map((waits) => Math.round((waits.get('c') ?? 0) / HOUR))).size, 4)
    assert.deepEqual(hours(await charge(['b', 0], ['a', 0], ['d', 0])), [
      ['a', 7],
      ['b', 7],
      ['d', 4],
    ])
  })

  test('a bucket fills from the time on in which it was taken from, and is then forgotten', async (t) => {
    const storage = await open(t)
    const charge = (bucket: string, charge: number, elapsed: number) =>
      storage.chargeBuckets(new Map([[bucket, charge * HOUR]]), elapsed * HOUR)

    assert.deepEqual(hours(await charge('a', 5, 3)), [['a', 2]])
    assert.deepEqual(hours(await charge('a', 5, 3)), [['a', 7]])
    assert.deepEqual(hours(await charge('b', 1, 3)), [['b', -2]])
    assert.deepEqual(hours(await charge('b', 1, 0)), [['b', 1]])
    assert.deepEqual(hours(await storage.chargeBuckets(new Map(), 0)), [])
  })
}
