import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Sql } from 'postgres'
import { createMemoryStorage, type Storage } from '../../lib/index.ts'
import { READS } from '../../lib/storage/cache.ts'
import type { StoreKey } from '../../lib/storage/port.ts'
import { createPostgresCache } from '../../lib/storage/postgres/read-cache.ts'
import {
  type Change,
  type Checked,
  checkVersion,
  createVersionCheck,
  type Version,
} from '../../lib/storage/postgres/version-check.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createSignal } from '../support/server.ts'
import { insertShops, MAIN, SIDE } from './fixtures/records.ts'
import { auditOf, newEntry } from './fixtures/writes.ts'

const server = await startPostgres()

/** An empty audit log, and the check of its changes. */
async function openLog(t: TestContext) {
  const url = await server.emptySchema(t)
  await openPostgres(t, url)
  const sql = rawPostgres(t, url)
  const db = {
    async find(statement: string, ...values: (string | number)[]) {
      return (await sql.unsafe(statement, values))[0]
    },
  }
  return { sql, check: createVersionCheck(db) }
}

/** Inserts entries with the subject, or with numbers as subjects. */
async function insertEntries(
  sql: Pick<Sql, 'unsafe'>,
  subject: string,
  { action = 'item.create', count = 1, xid = 'DEFAULT' } = {},
): Promise<void> {
  const values = `'', '', '${action}', '${subject}' || i, '', '', '', ''`
  const columns = 'at, actor, action, subject, account_id, project_id, store_id, request_id'
  const [column, value] = xid === 'DEFAULT' ? ['', ''] : [', xid', `, '${xid}'`]
  await sql.unsafe(`INSERT INTO audit (${columns}${column})
    SELECT ${values}${value} FROM generate_series(1, ${count}) AS i`)
}

/** Removes duplicates, because several index scans of a check may find the same entry. */
function subjectsIn({ changes }: Checked): (string | undefined)[] {
  const subjects = (changes ?? assert.fail('unknown changes')).map(({ subject }) => subject)
  return [...new Set(subjects)]
}

describe('a version check', () => {
  test('finds each change once, when its transaction has ended', async (t) => {
    const { sql, check } = await openLog(t)
    const first = await check()
    const open = await sql.reserve()
    await open`BEGIN`
    await insertEntries(open, 'held')
    await insertEntries(sql, 'other')

    const during = await check(first.version)
    const again = await check(during.version)
    await open`COMMIT`
    open.release()
    const after = await check(again.version)
    const last = await check(after.version)

    assert.equal(first.changes, undefined)
    const found = [during, again, after, last].map(subjectsIn)
    assert.deepEqual(found, [['other1'], [], ['held1'], []])
  })

  test('does not know the changes on another server, after a minute, or when there are too many', async (t) => {
    const { sql, check } = await openLog(t)
    const { version: known = assert.fail() } = await check()

    const unknown = [
      await check({ ...known, server: 'another' }),
      await check({ ...known, at: known.at - 61 }),
      await check({ ...known, at: known.at + 61 }),
    ]
    await insertEntries(sql, '', { count: 5_000 })
    unknown.push(await check(known))

    const changes = unknown.map(({ changes }) => changes)
    assert.deepEqual(changes, [undefined, undefined, undefined, undefined])
  })

  test('summarizes many changes without their subjects', async (t) => {
    const { sql, check } = await openLog(t)
    const { version } = await check()
    await insertEntries(sql, '', { count: 500 })
    await insertEntries(sql, 'other', { action: 'project.update' })

    const { changes = [] } = await check(version)

    const found = changes.map(({ action, subject }) => `${action} ${subject}`).toSorted()
    assert.deepEqual(found, ['item.create undefined', 'project.update undefined'])
  })

  test('finds an entry whose transaction id was reused after a crash, and ignores those of another server', async (t) => {
    const { sql, check } = await openLog(t)
    const { version } = await check()
    await insertEntries(sql, 'new')
    const { version: later } = await check(version)

    // The snapshot from before the crash contains the transaction id, but the number is new.
    const found = await check({ ...(later as Version), last: (version as Version).last })

    assert.deepEqual(subjectsIn(found), ['new1'])
    await insertEntries(sql, 'restored', { xid: '999999999999' }) // by a dump
    const restored = await check()
    assert.deepEqual(subjectsIn(await check(restored.version)), [])
  })

  test('keeps one plan for all values, because planning takes longer than the check', async (t) => {
    const { sql } = await openLog(t)
    const own = await sql.reserve()
    const find = async (statement: string, ...values: (string | number)[]) =>
      (await own.unsafe(statement, values, { prepare: true }))[0]
    let version: Version | undefined
    for (let i = 0; i < 12; i++) version = (await checkVersion({ find } as never, version)).version

    const plans = await own`SELECT custom_plans::int, generic_plans::int FROM pg_prepared_statements
      WHERE custom_plans > 0`
    own.release()
    assert.deepEqual([...plans], [{ custom_plans: 5, generic_plans: 7 }])
  })
})

test('an archive on PostgreSQL keeps the entries of the last hour', async (t) => {
  const storage = await openPostgres(t, await server.emptySchema(t))
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
  await storage.insertAudit({ audit: newEntry({ at: minutesAgo(50) }) })
  const file = `${temporaryFolder(t)}/audit.jsonl`

  const refused = storage.archiveAudit({ before: minutesAgo(40), file })
  await assert.rejects(refused, { code: 'invalid_request' })

  assert.equal((await auditOf(storage)).length, 1)
})

const entryOf = (action: Change['action'], subject = ''): Change => {
  return { action, subject, project_id: 'prj_1', ...MAIN }
}
const GOLD_CHANGED = entryOf('item.update', 'itm_gold')

/** A cache with two items, whose checks wait until the test answers them. */
async function openCached() {
  const memory = createMemoryStorage({ cacheBytes: 0 })
  await insertShops(memory)
  const reads: string[] = []
  const checks: ReturnType<typeof createSignal>[] = []
  let held: { readonly name: string; readonly given: Promise<void> } | undefined
  const counting = (name: (typeof READS)[number]) => {
    const method = memory[name] as (...args: unknown[]) => Promise<unknown>
    return async (...args: readonly unknown[]) => {
      const [first] = args
      reads.push(`${name} ${typeof first === 'string' ? first : (first as StoreKey).store_id}`)
      const found = await method(...args)
      if (held?.name === name) await held.given
      return found
    }
  }
  const counted = Object.fromEntries(READS.map((name) => [name, counting(name)]))
  const under: Storage = { ...memory, ...counted }
  let next: Change[] | undefined | Error = []
  const version = { snapshot: '', server: '', last: '', at: 0 }
  const check = async (): Promise<Checked> => {
    const signal = createSignal()
    checks.push(signal)
    await signal.given
    const changes = next
    next = []
    if (changes instanceof Error) throw changes
    return { version, changes }
  }
  const cache = createPostgresCache(under, check, 1e6)
  const releaseCheck = () => checks.at(-1)?.give()
  /** Answers all checks until a read is settled. */
  const settled = async <T>(read: Promise<T>): Promise<T> => {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    read.then(settle, settle)
    while (!isSettled) {
      releaseCheck()
      await new Promise(setImmediate)
    }
    return read
  }
  const { findItem } = cache.storage
  for (let i = 0; i < 3; i++)
    await settled(Promise.all([findItem('itm_gold'), findItem('itm_gem')]))
  reads.length = 0
  checks.length = 0
  return {
    ...cache,
    ...{ reads, checks, releaseCheck, settled },
    readGold: () => settled(findItem('itm_gold')),
    /** Sets the result of the next check. */
    answer(changes: Change[] | undefined | Error) {
      next = changes
    },
    holdRead(name: string): () => void {
      const signal = createSignal()
      held = { name, given: signal.given }
      return signal.give
    },
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !holds(); turn++) await new Promise(setImmediate)
  assert.ok(holds())
}

describe('the cache above version checks', () => {
  test('a read that arrives during a check waits for the next one', async () => {
    const { storage, checks, releaseCheck } = await openCached()

    const first = storage.findItem('itm_gold')
    const same = storage.findItem('itm_gem')
    await until(() => checks.length === 1)
    const second = storage.findItem('itm_gold')
    releaseCheck()
    await Promise.all([first, same])
    await until(() => checks.length === 2)
    releaseCheck()
    await second

    assert.equal(checks.length, 2)
  })

  test('a change makes only the results outdated that show the changed data', async () => {
    const { storage, answer, reads, settled } = await openCached()
    const readAll = () =>
      settled(
        Promise.all([
          storage.listItems(MAIN, { limit: 9 }),
          storage.listItems(SIDE, { limit: 9 }),
          storage.findItem('itm_gold'),
          storage.findItem('itm_side_gold'),
          storage.findProject('prj_1'),
          storage.findProject('prj_2'),
          storage.findStore('acc_1', 'main'),
          storage.listStoreSummaries('prj_1', { limit: 9 }),
          storage.findWatermark('prj_1', 'player'),
          storage.findAccountByKeyHash('hash-1'),
        ]),
      )
    for (let i = 0; i < 3; i++) await readAll()
    const { subject: _, ...manyUpdates } = entryOf('item.update')
    const byVersion01 = { ...entryOf('item.create'), project_id: '', store_id: '' }
    const byNewerVersion = entryOf('item.rename' as Change['action'])
    const all = 10
    const cases: readonly (readonly [Change[] | undefined, reads: string[] | number])[] = [
      [[entryOf('item.create')], ['listItems main']],
      [[GOLD_CHANGED], ['findItem itm_gold', 'listItems main']],
      [[manyUpdates], ['findItem itm_gold', 'listItems main']],
      [[entryOf('tokens.issue'), entryOf('purchases.import')], []],
      [[entryOf('catalog.apply')], []],
      [[entryOf('project.update')], ['findProject prj_1']],
      [[entryOf('store.update')], ['findStore acc_1', 'listStoreSummaries prj_1']],
      [[entryOf('tokens.revoke')], ['findWatermark prj_1']],
      [[entryOf('account_key.revoke')], ['findAccountByKeyHash hash-1']],
      [[byVersion01], all],
      [[byNewerVersion], all],
      [undefined, all],
    ]

    for (const [changes, expected] of cases) {
      reads.length = 0
      answer(changes)
      await readAll()
      const found = typeof expected === 'number' ? reads.length : reads.toSorted()
      assert.deepEqual(found, expected, JSON.stringify(changes))
    }
  })

  test('a failed check rejects the reads that wait for it, and empties the cache', async () => {
    const { answer, reads, readGold } = await openCached()
    answer(new Error('gone'))

    await assert.rejects(readGold(), { message: 'gone' })
    await readGold()

    assert.deepEqual(reads, ['findItem itm_gold'])
  })

  test('a connection lost during a check makes its result worthless', async () => {
    const { storage, reads, forget, checks, settled } = await openCached()

    const read = storage.findItem('itm_gold')
    await until(() => checks.length === 1)
    forget()
    await settled(read)

    assert.deepEqual(reads, ['findItem itm_gold'])
  })

  test('a read that began before a write is not cached after it', async () => {
    const { storage, notice, reads, settled, holdRead } = await openCached()
    const release = holdRead('findProject')

    const early = storage.findProject('prj_1')
    await until(() => reads.includes('findProject prj_1'))
    await storage.updateProject('prj_1', (project) => ({ ...project, name: 'New' }))
    notice(false)
    release()
    assert.equal((await settled(early))?.name, 'Game')

    assert.equal((await settled(storage.findProject('prj_1')))?.name, 'New')
  })

  test('the calls of one request read their own writes', async () => {
    const { storage, notice, answer, settled } = await openCached()
    const together = storage.together?.() ?? assert.fail()
    const read = () => settled(together(() => storage.findItem('itm_gold')))
    await read()

    await storage.updateItem('itm_gold', (item) => ({ ...item, price: 7 }))
    notice(true)
    answer([GOLD_CHANGED])

    assert.equal((await read())?.price, 7)
  })

  test('stops while every check finds a change, so that it costs nothing, but only for the changed item', async () => {
    const { storage, answer, reads, checks, readGold, settled } = await openCached()
    const readChanged = async (count: number) => {
      for (let i = 0; i < count; i++) {
        answer([GOLD_CHANGED])
        await readGold()
      }
    }
    await readChanged(50)
    reads.length = 0
    await settled(storage.findItem('itm_gem'))
    assert.deepEqual(reads, [])

    await readChanged(150)
    assert.ok(checks.length < 60, `${checks.length} checks`)
  })
})
