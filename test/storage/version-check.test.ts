import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Sql } from 'postgres'
import { createMemoryStorage, type Storage } from '../../lib/index.ts'
import { createPostgresCache } from '../../lib/storage/postgres/read-cache.ts'
import {
  type Change,
  type Checked,
  checkVersion,
  type Version,
} from '../../lib/storage/postgres/version-check.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createSignal } from '../support/server.ts'
import { insertShops, MAIN, SIDE } from './fixtures/records.ts'
import { auditOf, newEntry } from './fixtures/writes.ts'

const server = await startPostgres()

describe('a version check', () => {
  test('finds each change once, when its transaction has ended', async (t) => {
    const { sql, check } = await openLog(t)
    const first = await check()
    const held = sql.reserve()
    const open = await held
    await open`BEGIN`
    await insertEntry(open, 'held')
    await insertEntry(sql, 'other')

    const during = await check(first.version)
    const again = await check(during.version)
    await open`COMMIT`
    open.release()
    const after = await check(again.version)
    const last = await check(after.version)

    assert.equal(first.changes, undefined)
    assert.deepEqual(subjectsIn(during), ['other'])
    assert.deepEqual(subjectsIn(again), [])
    assert.deepEqual(subjectsIn(after), ['held'])
    assert.deepEqual(subjectsIn(last), [])
  })

  test('does not know the changes on another server, after a minute, or when there are too many', async (t) => {
    const { sql, check } = await openLog(t)
    const { version } = await check()
    const known = version ?? assert.fail()

    const unknown = [
      await check({ ...known, server: 'another' }),
      await check({ ...known, at: known.at - 61 }),
      await check({ ...known, at: known.at + 61 }),
    ]
    await sql`INSERT INTO audit (at, actor, action, subject, account_id, request_id)
      SELECT '', '', 'item.create', '', '', '' FROM generate_series(1, 100)`
    unknown.push(await check(known))

    assert.deepEqual(
      unknown.map(({ changes }) => changes),
      [undefined, undefined, undefined, undefined],
    )
  })

  test('finds an entry whose transaction id was reused after a crash', async (t) => {
    const { sql, check } = await openLog(t)
    const { version } = await check()
    await insertEntry(sql, 'new')
    const { version: later } = await check(version)

    // The snapshot from before the crash contains the transaction id, but the number is new.
    const found = await check({ ...(later as Version), last: (version as Version).last })

    assert.deepEqual(subjectsIn(found), ['new'])
  })

  test('ignores the transaction ids in a restored dump of another server', async (t) => {
    const { sql, check } = await openLog(t)
    await sql`INSERT INTO audit (at, actor, action, subject, account_id, request_id, xid)
      VALUES ('', '', 'item.create', 'restored', '', '', '999999999999')`
    const { version } = await check()

    assert.deepEqual(subjectsIn(await check(version)), [])
  })
})

test('an archive on PostgreSQL keeps the entries of the last hour', async (t) => {
  const storage = await openPostgres(t, await server.createSchema(t))
  const at = new Date(Date.now() - 50 * 60_000).toISOString()
  await storage.insertAudit({ audit: newEntry({ at }) })
  const file = `${temporaryFolder(t)}/audit.jsonl`
  const before = new Date(Date.now() - 40 * 60_000).toISOString()

  await assert.rejects(storage.archiveAudit({ before, file }), { code: 'invalid_request' })

  assert.equal((await auditOf(storage)).length, 1)
})

describe('the cache above version checks', () => {
  test('a read that arrives during a check waits for the next one', async () => {
    const { storage, checks, releaseCheck } = await openCached()
    await cacheItems(storage, releaseCheck)
    const before = checks.length

    const first = storage.findItem('itm_gold')
    const same = storage.findItem('itm_gem')
    await until(() => checks.length === before + 1)
    const second = storage.findItem('itm_gold')
    releaseCheck()
    await Promise.all([first, same])
    await until(() => checks.length === before + 2)
    releaseCheck()
    await second

    assert.equal(checks.length, before + 2)
  })

  test('a new item makes the lists of its store outdated, and nothing else', async () => {
    const { storage, answer, reads, releaseCheck } = await openCached()
    const list = (store: typeof MAIN) => storage.listItems(store, { limit: 9 })
    const readAll = async () => {
      const all = Promise.all([
        list(MAIN),
        list(SIDE),
        storage.findItem('itm_gold'),
        storage.findProject('prj_1'),
      ])
      await settled(all, releaseCheck)
    }
    for (let i = 0; i < 3; i++) await readAll()

    reads.length = 0
    answer([entryOf('item.create')])
    await readAll()
    assert.deepEqual(reads, ['listItems main'])
    reads.length = 0
    answer([entryOf('item.update', 'itm_gold')])
    await readAll()
    assert.deepEqual(reads.toSorted(), ['findItem', 'listItems main'])
    reads.length = 0
    answer([entryOf('tokens.issue'), entryOf('purchases.import')])
    await readAll()
    assert.deepEqual(reads, [])
    answer([entryOf('project.update')])
    await readAll()
    assert.equal(reads.length, 4)
    reads.length = 0
    answer([{ ...entryOf('item.create'), store_id: '' }]) // by version 0.1
    await readAll()
    assert.equal(reads.length, 4)
    reads.length = 0
    answer(undefined)
    await readAll()
    assert.equal(reads.length, 4)
  })

  test('a failed check rejects the reads that wait for it, and empties the cache', async () => {
    const { storage, answer, reads, releaseCheck } = await openCached()
    await cacheItems(storage, releaseCheck)
    reads.length = 0
    answer(new Error('gone'))

    await assert.rejects(settled(storage.findItem('itm_gold'), releaseCheck), { message: 'gone' })
    await settled(storage.findItem('itm_gold'), releaseCheck)

    assert.deepEqual(reads, ['findItem'])
  })

  test('a connection lost during a check makes its result worthless', async () => {
    const { storage, reads, releaseCheck, forget, checks } = await openCached()
    await cacheItems(storage, releaseCheck)
    reads.length = 0

    const before = checks.length
    const read = storage.findItem('itm_gold')
    await until(() => checks.length === before + 1)
    forget()
    await settled(read, releaseCheck)

    assert.deepEqual(reads, ['findItem'])
  })

  test('a read that began before a write is not cached after it', async () => {
    const { storage, reads, releaseCheck, holdRead } = await openCached()
    await cacheItems(storage, releaseCheck)
    const release = holdRead('findProject')

    const early = storage.findProject('prj_1')
    await until(() => reads.includes('findProject'))
    await storage.updateProject('prj_1', (project) => ({ ...project, name: 'New' }))
    release()
    assert.equal((await settled(early, releaseCheck))?.name, 'Game')

    assert.equal((await settled(storage.findProject('prj_1'), releaseCheck))?.name, 'New')
  })

  test('the calls of one request read their own writes', async () => {
    const { storage, releaseCheck } = await openCached()
    await cacheItems(storage, releaseCheck)
    const together = storage.together?.() ?? assert.fail()
    const read = () =>
      settled(
        together(() => storage.findItem('itm_gold')),
        releaseCheck,
      )
    await read()

    await storage.updateItem('itm_gold', (item) => ({ ...item, price: 7 }))

    assert.equal((await read())?.price, 7)
  })

  test('stops while every check finds a change, so that it costs nothing', async () => {
    const { storage, answer, checks, releaseCheck } = await openCached()
    await cacheItems(storage, releaseCheck)
    for (let i = 0; i < 200; i++) {
      answer([entryOf('item.update', 'itm_gold')])
      await settled(storage.findItem('itm_gold'), releaseCheck)
    }

    assert.ok(checks.length < 60, `${checks.length} checks`)
  })
})

async function openLog(t: TestContext) {
  const url = await server.createSchema(t)
  await openPostgres(t, url)
  const sql = rawPostgres(t, url)
  const db = {
    async find(statement: string, ...values: (string | number)[]) {
      return (await sql.unsafe(statement, values))[0]
    },
  }
  return { sql, check: (previous?: Version) => checkVersion(db, previous) }
}

async function insertEntry(sql: Pick<Sql, 'unsafe'>, subject: string): Promise<void> {
  await sql.unsafe(`INSERT INTO audit (at, actor, action, subject, account_id, request_id)
    VALUES ('', '', 'item.create', '${subject}', '', '')`)
}

/** Removes duplicates, because several index scans of a check may find the same entry. */
function subjectsIn({ changes }: Checked): string[] {
  const subjects = (changes ?? assert.fail('unknown changes')).map(({ subject }) => subject)
  return [...new Set(subjects)]
}

function entryOf(action: Change['action'], subject = ''): Change {
  return { action, subject, ...MAIN }
}

/** A cache whose checks wait until the test answers them. */
async function openCached() {
  const memory = createMemoryStorage()
  await insertShops(memory)
  const reads: string[] = []
  const checks: ReturnType<typeof createSignal>[] = []
  let held: { readonly name: string; readonly given: Promise<void> } | undefined
  const counting = <Args extends readonly unknown[], Result>(
    name: string,
    method: (...args: Args) => Promise<Result>,
  ) => {
    return async (...args: Args): Promise<Result> => {
      const store = name === 'listItems' ? ` ${(args[0] as typeof MAIN).store_id}` : ''
      reads.push(name + store)
      const found = await method(...args)
      if (held?.name === name) await held.given
      return found
    }
  }
  const under: Storage = {
    ...memory,
    findItem: counting('findItem', memory.findItem),
    findProject: counting('findProject', memory.findProject),
    listItems: counting('listItems', memory.listItems),
  }
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
  const { storage, forget } = createPostgresCache(under, check, 1e6)
  return {
    storage,
    forget,
    reads,
    checks,
    releaseCheck: () => checks.at(-1)?.give(),
    /** The result of the next check. */
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

/** Reads until both items are in the cache. */
async function cacheItems(storage: Storage, releaseCheck: () => void): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const both = Promise.all([storage.findItem('itm_gold'), storage.findItem('itm_gem')])
    await settled(both, releaseCheck)
  }
}

/** Answers all checks until a read is settled. */
async function settled<T>(read: Promise<T>, releaseCheck: () => void): Promise<T> {
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

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !holds(); turn++) await new Promise(setImmediate)
  assert.ok(holds())
}
