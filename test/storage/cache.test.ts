// run: early, runtime
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createMemoryStorage, type Project, type Storage } from '../../lib/index.ts'
import { withReadCache } from '../../lib/storage/cache/cache.ts'
import { bePatient } from '../support/clock.ts'
import { createRandom } from '../support/random.ts'
import { createSignal } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { newPath, open } from '../support/storage/places.ts'
import { insertStores, MAIN, newItem, newStore } from '../support/storage/records.ts'
import { findStale, insertLine, READS_PER_ROUND, takeStep } from '../support/storage/steps.ts'
import { ARCHIVED, newEntry } from '../support/storage/writes.ts'
import { startWorker } from '../support/worker.ts'

/** Reads during writes. */
const READS = soakOnly ? 600 : 20_000
const random = createRandom()

test('no read of a file is older than the last acknowledged write of any writer', async (t) => {
  bePatient(t) // three processes compete for the lock
  const path = newPath(t)
  const storage = await open(t, path)
  const beside = await open(t, path)
  const lines = ['own', 'beside', 'theirs']
  for (const line of lines) await insertLine(storage, line)
  const [stepper, reader] = [startWorker(t), startWorker(t)]
  await stepper.ask('bePatient')
  await stepper.ask('open', path)
  await reader.ask('open', path)

  const here = [0, 0]
  const theirs = stepper.takeSteps('theirs')
  const steps = () => [...here, theirs.steps]
  const stale: string[] = []
  let reads = 0

  const writing = async (by: Storage, i: number) => {
    while (reads < READS) {
      await takeStep(by, lines[i] as string, (here[i] ?? 0) + 1)
      here[i] = (here[i] ?? 0) + 1
      await setTimeout(random() * 20)
    }
  }
  const readingThere = async () => {
    while (reads < READS) {
      const known = steps()
      for (const [i, line] of lines.entries()) {
        stale.push(...((await reader.ask('findStale', line, known[i] as number)) as string[]))
      }
      reads += READS_PER_ROUND * lines.length
    }
  }
  const readingHere = async (line: string, i: number) => {
    while (reads < READS) {
      stale.push(...(await findStale(storage, line, steps()[i] as number)))
      reads += READS_PER_ROUND
    }
  }
  const writers = [storage, beside].map(writing)
  await Promise.all([...writers, readingThere(), ...lines.map(readingHere)])

  assert.deepEqual(stale, [])
  t.diagnostic(`${reads} reads, ${steps().join(' + ')} steps of ten writes`)
})

test('a change in a file is found, also if its audit entry is archived before the next read', async (t) => {
  const path = newPath(t)
  const [storage, other] = [await open(t, path), await open(t, path)]
  await insertStores(storage)
  await storage.insertAudit({ audit: newEntry() })
  const cached = async () => {
    await storage.findProject('prj_1')
    return storage.findProject('prj_1')
  }
  const before = await cached()
  assert.equal(await cached(), before)

  const audit = newEntry({ action: 'project.update', project_id: 'prj_1' })
  await other.updateProject('prj_1', (project) => ({ record: { ...project, name: 'New' } }), {
    audit,
  })
  const file = `${path}.jsonl`
  assert.equal(
    await other.archiveAudit({ before: '9999-01-01T00:00:00.000Z', file, write: ARCHIVED }),
    2,
  )

  assert.equal((await cached())?.name, 'New')

  // After more entries than a check reads, the whole cache is emptied.
  await other.updateProject('prj_1', (project) => ({ record: { ...project, name: 'Newest' } }), {
    audit,
  })
  const entries = Array.from({ length: 1_000 }, () => other.insertAudit({ audit: newEntry() }))
  await Promise.all(entries)
  assert.equal((await cached())?.name, 'Newest')

  // A write without an audit entry empties the cache of its own process.
  await storage.updateProject('prj_1', (project) => ({ record: { ...project, name: 'Own' } }))
  assert.equal((await cached())?.name, 'Own')
})

/**
 * A cache above a memory storage that reports no commits. The test counts its reads and changes its
 * version. `state.lose` reports a lost connection.
 */
async function openCached(bytes = 1e6, own: (under: Storage) => Partial<Storage> = () => ({})) {
  const under = createMemoryStorage({ cacheBytes: 0 })
  await insertStores(under)
  const state = { version: 1, checks: 0, lose() {}, answer: Promise.resolve() }
  const check = async (previous?: number) => {
    state.checks++
    const { version } = state
    await state.answer
    return { version, changes: version === previous ? [] : undefined }
  }
  const db = {
    onWrite() {},
    onLost(listener: () => void) {
      state.lose = listener
    },
  }
  const storage = withReadCache({ ...under, ...own(under) }, db, check, bytes)
  await storage.dataVersion?.check() // nothing is cached before the first version check
  state.checks = 0
  return { under, state, storage }
}

const rename = (project: Project) => ({ record: { ...project, name: 'New' } })

test('a read that began before a write is not cached after it', async () => {
  const [read, opened] = [createSignal(), createSignal()]
  const { storage, state } = await openCached(1e6, (under) => ({
    async findProject(id) {
      const found = await under.findProject(id)
      read.give()
      await opened.given
      return found
    },
  }))

  const early = storage.findProject('prj_1')
  await read.given
  await storage.updateProject('prj_1', rename)
  state.version++
  opened.give()
  assert.equal((await early)?.name, 'Game')

  assert.equal((await storage.findProject('prj_1'))?.name, 'New')
})

test('a slow read of an older record does not replace the cached newer one', async () => {
  let reads = 0
  const [read, opened] = [createSignal(), createSignal()]
  const { storage, state } = await openCached(1e6, (under) => ({
    async findProject(id) {
      const found = await under.findProject(id)
      if (++reads === 1) {
        read.give()
        await opened.given
      }
      return found
    },
  }))

  const slow = storage.findProject('prj_1')
  await read.given
  await storage.updateProject('prj_1', rename)
  state.version++
  await storage.dataVersion?.check()
  const newer = await storage.findProject('prj_1')
  opened.give()
  assert.equal((await slow)?.name, 'Game')

  assert.equal(newer?.name, 'New')
  assert.equal(await storage.findProject('prj_1'), newer)
  assert.equal(reads, 2)
})

test('a version check that runs while its connection is lost tells nothing about the next one', async () => {
  const answered = createSignal()
  const { storage, state } = await openCached()
  const name = async () => (await storage.findProject('prj_1'))?.name
  const asked = state.checks + 1
  state.answer = answered.given
  const checked = storage.dataVersion?.check()
  while (state.checks < asked) await setTimeout(1)
  state.lose()
  // The version of a new connection begins again at 0.
  state.version = 0
  answered.give()
  await checked

  assert.equal(await name(), 'Game')
  await storage.updateProject('prj_1', rename)
  state.version = 1
  assert.equal(await name(), 'New')
})

test('a read that begins during a version check waits for the next one, because the first misses later writes', async () => {
  const answered = createSignal()
  const { storage, state, under } = await openCached()
  const name = async () => (await storage.findProject('prj_1'))?.name
  assert.equal(await name(), 'Game')
  const sent = state.checks + 1
  state.answer = answered.given
  const checked = storage.dataVersion?.check()
  while (state.checks < sent) await setTimeout(1)

  await under.updateProject('prj_1', rename)
  state.version++
  const later = name()
  answered.give()
  await checked

  assert.equal(await later, 'New')
})

test('a request sees a write that its own process made while the request ran', async () => {
  const storage = createMemoryStorage()
  await insertStores(storage)
  await storage.dataVersion?.check()
  await storage.findProject('prj_1')
  const together = storage.together()
  const name = async () => (await together(() => storage.findProject('prj_1')))?.name
  await storage.dataVersion?.check()
  assert.equal(await name(), 'Game')

  const audit = newEntry({ action: 'project.update', project_id: 'prj_1' })
  await storage.updateProject('prj_1', rename, { audit })
  assert.equal(await name(), 'New')
})

test('a read that may be outdated shares no read that was sent before it, because that may miss a new record', async () => {
  const [read, opened] = [createSignal(), createSignal()]
  const { storage } = await openCached(1e6, (under) => ({
    async findStore(...key) {
      const found = await under.findStore(...key)
      read.give()
      await opened.given
      return found
    },
  }))

  const early = storage.findStore('acc_1', 'new')
  await read.given
  await storage.insertStore(newStore('new'))
  const later = storage.stale.findStore('acc_1', 'new')
  opened.give()

  assert.equal(await early, undefined)
  assert.equal((await later)?.store_id, 'new')
})

test('reads of one turn share a version check, and return the same frozen object', async () => {
  let reads = 0
  const { storage, state, under } = await openCached(1e6, (under) => ({
    findItem(id) {
      reads++
      return under.findItem(id)
    },
  }))
  await under.insertItem(newItem('gold', { metadata: { deep: [{ er: 1 }] } }))
  const item = async () => (await storage.findItem('itm_gold')) ?? assert.fail()

  await Promise.all(Array.from({ length: 50 }, item))
  assert.deepEqual([state.checks, reads], [0, 1]) // 50 concurrent misses share a read
  await Promise.all(Array.from({ length: 50 }, item))
  const [a, b] = [await item(), await item()]

  assert.deepEqual([state.checks, reads], [3, 1])
  assert.equal(a, b)
  assert.throws(() => {
    ;(a.metadata.deep as { er: number }[])[0] = { er: 2 }
  }, TypeError)
})

test('only the first page of a list is cached, so a long list does not fill the cache', async () => {
  let reads = 0
  const { storage, under } = await openCached(20_000, (under) => ({
    listItems(store, page) {
      reads++
      return under.listItems(store, page)
    },
  }))
  for (let i = 0; i < 40; i++) await under.insertItem(newItem(`sku_${i}`))
  const gold = await storage.findItem('itm_sku_0')
  const first = await storage.listItems(MAIN, { limit: 2 })
  for (let round = 0; round < 2; round++) {
    let next: string | undefined
    do {
      next = (await storage.listItems(MAIN, { limit: 2, ...(next && { after: next }) })).next
    } while (next !== undefined)
  }

  assert.equal(reads, 1 + 19 + 19)
  assert.equal(await storage.findItem('itm_sku_0'), gold)
  assert.equal(await storage.listItems(MAIN, { limit: 2 }), first)
})

test('an endless loop of reads lets other work run', async () => {
  const { storage } = await openCached()
  let isOver = false
  const other = setTimeout(5).then(() => {
    isOver = true
  })

  let reads = 0
  while (!isOver && reads < 1e6) reads += Number((await storage.findProject('prj_1')) !== undefined)

  assert.ok(isOver)
  await other
})

test('the cache stays within its memory limit for every shape of record', {
  skip: soakOnly,
}, async (t) => {
  const shapes = ['text', 'objects', 'arrays', 'keys', 'doubles', 'small', 'pages', 'unknown']
  const child = fork(new URL('../support/storage/heap.ts', import.meta.url), shapes, {
    execArgv: ['--expose-gc'],
  })
  t.after(() => child.kill())
  const gone = once(child, 'exit').then(() => assert.fail('the script ended without a message'))
  const [megabytes] = await Promise.race([once(child, 'message'), gone])

  for (const shape of shapes) {
    const used = megabytes[shape] ?? Number.NaN
    t.diagnostic(`${shape}: ${used.toFixed(1)} MiB of 4`)
    assert.ok(used < 4, `${shape} take ${used} MiB`)
  }
})
