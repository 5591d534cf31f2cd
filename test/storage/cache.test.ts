import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createMemoryStorage, type Storage } from '../../lib/index.ts'
import { createReadCache } from '../../lib/storage/cache.ts'
import { openSqliteDriver, type SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { bePatient } from '../support/clock.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createRandom } from '../support/random.ts'
import { createSignal } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { openSqlite } from '../support/sqlite.ts'
import { startWorker } from '../support/worker.ts'
import { insertStores, MAIN, newItem } from './fixtures/records.ts'
import {
  findStale,
  insertLine,
  READS_PER_ROUND,
  readsOf,
  takeRawStep,
  takeStep,
} from './fixtures/steps.ts'

/**
 * Reads during writes, for each driver and round. TILLKIT_TEST_ROUNDS sets the rounds.
 */
const READS = soakOnly ? 1_000 : 4_000
const random = createRandom()
const ROUNDS = Number(process.env.TILLKIT_TEST_ROUNDS ?? 1)

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`the read cache of a file with ${driver}`, { skip }, () => describeFreshness(driver))
}

function describeFreshness(driver: SqliteDriverName): void {
  for (let round = 1; round <= ROUNDS; round++) {
    test(`no read is older than the last acknowledged write of any writer (${round})`, async (t) => {
      bePatient(t) // three processes compete for the lock
      const path = join(temporaryFolder(t), 'till.db')
      const storage = await open(t, path, driver)
      const lines = ['own', 'theirs', 'raw']
      for (const line of lines) await insertLine(storage, line)
      const [stepper, reader] = [startWorker(t), startWorker(t)]
      await stepper.ask('bePatient')
      await stepper.ask('open', path, driver)
      await reader.ask('open', path, driver)
      const raw = await openSqliteDriver(path, driver)
      raw.exec('PRAGMA busy_timeout = 0') // takeRawStep has its own wait
      t.after(() => raw.close())

      const own = { steps: 0 }
      const theirs = stepper.takeSteps('theirs')
      const past = { steps: 0 }
      const steps = () => [own.steps, theirs.steps, past.steps]
      const stale: string[] = []
      let reads = 0

      const writing = (async () => {
        while (reads < READS) {
          await takeStep(storage, 'own', own.steps + 1)
          own.steps++
          await setTimeout(random() * 20)
        }
      })()
      const readingThere = (async () => {
        while (reads < READS) {
          const known = steps()
          for (const [i, line] of lines.entries()) {
            stale.push(...((await reader.ask('findStale', line, known[i] as number)) as string[]))
          }
          reads += READS_PER_ROUND * lines.length
        }
      })()
      const readingHere = async (line: string, i: number) => {
        while (reads < READS) {
          stale.push(...(await findStale(storage, line, steps()[i] as number)))
          reads += READS_PER_ROUND
          // A synchronous write in the same turn as the reads before and after it.
          if (line === 'raw' && random() < 0.2) takeRawStep(raw, 'raw', ++past.steps)
        }
      }
      await Promise.all([writing, readingThere, ...lines.map(readingHere)])

      assert.deepEqual(stale, [])
      t.diagnostic(`${reads} reads, ${steps().join(' + ')} steps of ten writes`)
    })
  }
}

test('a read sees a synchronous write of another connection in the same turn', async (t) => {
  const path = join(temporaryFolder(t), 'till.db')
  const [{ driver } = assert.fail()] = (await sqliteDrivers()).filter(({ skip }) => !skip)
  const storage = await open(t, path, driver)
  await insertStores(storage)
  const raw = await openSqliteDriver(path, driver)
  t.after(() => raw.close())

  const names: string[] = []
  for (let i = 0; i < 5; i++) {
    raw.exec(`UPDATE projects SET name = 'Name ${i}' WHERE id = 'prj_1'`)
    names.push((await storage.findProject('prj_1'))?.name ?? '')
  }

  assert.deepEqual(names, ['Name 0', 'Name 1', 'Name 2', 'Name 3', 'Name 4'])
})

test('after each write of any writer all reads return the same as without a cache', async (t) => {
  const path = join(temporaryFolder(t), 'till.db')
  const [{ driver } = assert.fail()] = (await sqliteDrivers()).filter(({ skip }) => !skip)
  const storages = [await open(t, path, driver), await open(t, path, driver)] as const
  const plain = await open(t, path, driver, 0)
  const raw = await openSqliteDriver(path, driver)
  t.after(() => raw.close())
  await insertLine(storages[0], 'one')
  const writers = [
    (step: number) => takeStep(storages[0], 'one', step),
    (step: number) => takeStep(storages[1], 'one', step),
    (step: number) => takeStep(plain, 'one', step),
    async (step: number) => takeRawStep(raw, 'one', step),
  ]

  for (let step = 1; step <= 60; step++) {
    await writers[Math.floor(random() * writers.length)]?.(step)
    const shown = await Promise.all(storages.map((each) => Promise.all(readsOf(each, 'one', step))))
    const truth = await Promise.all(readsOf(plain, 'one', step))
    assert.deepEqual(shown, [truth, truth])
  }
})

test('a cache of 0 bytes stores nothing', async (t) => {
  const storage = await open(t, join(temporaryFolder(t), 'till.db'), undefined, 0)
  await insertStores(storage)
  const found = [await storage.findProject('prj_1'), await storage.findProject('prj_1')] as const

  assert.deepEqual(found[0], found[1])
  assert.notEqual(found[0], found[1])
  assert.equal(Object.isFrozen(found[0]), false)
})

test('a failed version check rejects the reads that wait for it, and no others', async () => {
  const under = createMemoryStorage({ cacheBytes: 0 })
  await insertStores(under)
  let isBroken = true
  const storage = createReadCache(
    under,
    () => {
      if (isBroken) throw new Error('disk')
      return 1
    },
    1e6,
  )

  const reads = [storage.findProject('prj_1'), storage.listStoreSummaries('prj_1', { limit: 9 })]
  for (const read of reads) await assert.rejects(read, { message: 'disk' })
  isBroken = false

  assert.equal((await storage.findProject('prj_1'))?.id, 'prj_1')
})

test('a read that began before a write is not cached after it', async () => {
  const under = createMemoryStorage({ cacheBytes: 0 })
  await insertStores(under)
  const [read, opened] = [createSignal(), createSignal()]
  const slow: Storage = {
    ...under,
    async findProject(id) {
      const found = await under.findProject(id)
      read.give()
      await opened.given
      return found
    },
  }
  let version = 1
  const storage = createReadCache(slow, () => version, 1e6)

  const early = storage.findProject('prj_1')
  await read.given
  await storage.updateProject('prj_1', (project) => ({ ...project, name: 'New' }))
  version++
  opened.give()
  assert.equal((await early)?.name, 'Game')

  assert.equal((await storage.findProject('prj_1'))?.name, 'New')
})

test('reads of one turn share a version check, and return the same frozen object', async () => {
  const under = createMemoryStorage({ cacheBytes: 0 })
  await insertStores(under)
  await under.insertItem(newItem('gold', { metadata: { deep: [{ er: 1 }] } }))
  let checks = 0
  const storage = createReadCache(under, () => checks++ && 1, 1e6)
  const item = async () => (await storage.findItem('itm_gold')) ?? assert.fail()

  await Promise.all(Array.from({ length: 50 }, item))
  assert.equal(checks, 1)
  await item()
  const [a, b] = [await item(), await item()]

  assert.equal(checks, 4)
  assert.equal(a, b)
  assert.throws(() => {
    ;(a.metadata.deep as { er: number }[])[0] = { er: 2 }
  }, TypeError)
})

test('concurrent misses share one read, and a write causes another one', async () => {
  const under = createMemoryStorage({ cacheBytes: 0 })
  await insertStores(under)
  let reads = 0
  const counting: Storage = {
    ...under,
    async listItems(store, page) {
      reads++
      return under.listItems(store, page)
    },
  }
  let version = 1
  const storage = createReadCache(counting, () => version, 1e6)
  const list = () => storage.listItems(MAIN, { limit: 10 })

  await Promise.all(Array.from({ length: 64 }, list))
  assert.equal(reads, 1)
  await storage.insertItem(newItem('gold'))
  version++
  const pages = await Promise.all(Array.from({ length: 64 }, list))

  assert.equal(reads, 2)
  assert.ok(pages.every(({ items }) => items.length === 1))
})

test('a later page is cached at its second read, so a long list does not fill the cache', async () => {
  const under = createMemoryStorage({ cacheBytes: 0 })
  await insertStores(under)
  for (let i = 0; i < 40; i++) await under.insertItem(newItem(`sku_${i}`))
  const asked: unknown[] = []
  const counting: Storage = {
    ...under,
    listItems(store, page) {
      asked.push(page.after)
      return under.listItems(store, page)
    },
  }
  let version = 1
  const storage = createReadCache(counting, () => version, 20_000)
  const gold = await storage.findItem('itm_sku_0')
  let next: string | undefined
  do {
    const page = await storage.listItems(MAIN, { limit: 2, ...(next ? { after: next } : {}) })
    next = page.next
  } while (next !== undefined)
  assert.equal(await storage.findItem('itm_sku_0'), gold)
  assert.equal(asked.length, 20)

  const later = () => storage.listItems(MAIN, { limit: 2, after: 'itm_sku_9' })
  const [, second, third] = [await later(), await later(), await later()]

  assert.equal(second, third)
  assert.equal(asked.length, 21)
  assert.deepEqual(await under.listItems(MAIN, { limit: 2, after: 'itm_sku_9' }), second)
  await storage.insertItem(newItem('sku_40'))
  version++
  assert.notEqual(await later(), second)
})

test('an endless loop of reads lets other work run', async () => {
  const under = createMemoryStorage({ cacheBytes: 0 })
  await insertStores(under)
  const storage = createReadCache(under, () => 1, 1e6)
  let isOver = false
  const other = setTimeout(5).then(() => {
    isOver = true
  })

  let reads = 0
  while (!isOver && reads < 1e6) reads += Number((await storage.findProject('prj_1')) !== undefined)

  assert.ok(isOver)
  await other
})

test('a value too large for the cache evicts nothing', async () => {
  const under = createMemoryStorage({ cacheBytes: 0 })
  await insertStores(under)
  await under.insertItem(newItem('gold'))
  await under.insertItem(newItem('huge', { metadata: { text: 'x'.repeat(10_000) } }))
  const storage = createReadCache(under, () => 1, 10_000)
  const small = await storage.findItem('itm_gold')

  for (let i = 0; i < 3; i++) await storage.findItem('itm_huge')

  assert.equal(await storage.findItem('itm_gold'), small)
  assert.notEqual(await storage.findItem('itm_huge'), await storage.findItem('itm_huge'))
})

test('the cache stays within its memory limit for every shape of record', {
  skip: soakOnly,
}, async (t) => {
  const shapes = ['text', 'objects', 'arrays', 'keys', 'doubles', 'small', 'pages', 'unknown']
  const megabytes = await inChild(t, './fixtures/heap.ts', shapes)

  for (const shape of shapes) {
    const used = megabytes[shape] ?? Number.NaN
    t.diagnostic(`${shape}: ${used.toFixed(1)} MiB of 4`)
    assert.ok(used < 4, `${shape} take ${used} MiB`)
  }
})

/** Runs a script with `--expose-gc`, and returns its message. */
async function inChild(
  t: TestContext,
  script: string,
  args: string[],
): Promise<Record<string, number>> {
  const child = fork(new URL(script, import.meta.url), args, {
    execArgv: ['--expose-gc'],
  })
  t.after(() => child.kill())
  const gone = once(child, 'exit').then(() => assert.fail('the script ended without a message'))
  const [answer] = await Promise.race([once(child, 'message'), gone])
  return answer
}

async function open(
  t: TestContext,
  path: string,
  driver?: SqliteDriverName,
  cacheBytes?: number,
): Promise<Storage> {
  const storage = await openSqlite(path, {
    ...(driver === undefined ? {} : { driver }),
    ...(cacheBytes === undefined ? {} : { cacheBytes }),
  })
  t.after(() => storage.close())
  return storage
}
