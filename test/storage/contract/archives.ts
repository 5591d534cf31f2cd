import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Storage } from '../../../lib/storage/port.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { auditOf, newEntry } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

const DAYS = ['01', '02', '03', '04', '05', '06'].map((day) => `2024-01-${day}T00:00:00.000Z`)
const BEFORE = DAYS[4] as string
const OLD = ['1', '2', '3', '4']
const NOBODY = 65_534

export function describeArchives(open: OpenStorage): void {
  test('an archive moves the entries before a time into a file with mode 0600', async (t) => {
    const storage = await openLog(t, open)
    const file = newFile(t)
    const reported: number[] = []

    const onProgress = (archived: number) => void reported.push(archived)
    const archived = await storage.archiveAudit({ before: BEFORE, file, onProgress })

    assert.equal(archived, 4)
    assert.deepEqual(reported, [4])
    assert.deepEqual(await subjectsOf(storage), ['5', '6'])
    const entries = linesOf(file).map((line) => JSON.parse(line))
    const expected = OLD.map((subject, i) => newEntry({ subject, at: DAYS[i] as string }))
    assert.deepEqual(
      entries.map(({ seq: _, ...entry }) => entry),
      expected,
    )
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(await storage.check(), [])
  })

  test('an archive of many batches writes each entry once, and the log keeps the others', async (t) => {
    const storage = await open(t)
    const numbers = Array.from({ length: 4_500 }, (_, i) => String(i))
    const atOf = (i: number) => (i < 4_050 ? DAYS[0] : DAYS[5]) as string
    const entries = numbers.map((subject, i) => ({ audit: newEntry({ subject, at: atOf(i) }) }))
    await storage.insertAudit(...entries)
    const file = newFile(t)

    const archived = await storage.archiveAudit({ before: BEFORE, file })

    assert.equal(archived, 4_050)
    const kept = linesOf(file).map((line) => JSON.parse(line).subject)
    assert.deepEqual(kept, numbers.slice(0, 4_050))
    const first = await storage.listAudit(undefined, { limit: 300 })
    assert.ok(first.next)
    const second = await storage.listAudit(undefined, { limit: 300, after: first.next })
    const left = [...first.entries, ...second.entries].map(({ subject }) => subject)
    assert.deepEqual(left, numbers.slice(4_050))
  })

  test('an archive stops at the first newer entry, and the next run continues in its file', async (t) => {
    const storage = await open(t)
    const times = [DAYS[0], DAYS[5], DAYS[1]] as string[] // the clock was wrong for the second entry
    const entries = times.map((at, i) => ({ audit: newEntry({ at, subject: String(i + 1) }) }))
    await storage.insertAudit(...entries)
    const file = newFile(t)

    const first = await storage.archiveAudit({ before: BEFORE, file })
    const left = await subjectsOf(storage)
    const second = await storage.archiveAudit({ before: '2024-02-01T00:00:00.000Z', file })

    assert.deepEqual([first, left, second], [1, ['2', '3'], 2])
    const kept = linesOf(file).map((line) => JSON.parse(line).subject)
    assert.deepEqual(kept, ['1', '2', '3'])
  })

  test('an archive continues the file of an earlier one, and no number is used twice', async (t) => {
    const storage = await openLog(t, open)
    const file = newFile(t)
    await storage.archiveAudit({ before: '2025-01-01T00:00:00.000Z', file })
    assert.deepEqual(await subjectsOf(storage), [])
    await storage.insertAudit({ audit: newEntry({ subject: '7' }) })

    const archived = await storage.archiveAudit({ before: '2025-01-01T00:00:00.000Z', file })

    assert.equal(archived, 1)
    const entries = linesOf(file).map((line) => JSON.parse(line))
    assert.deepEqual(
      entries.map(({ subject }) => subject),
      ['1', '2', '3', '4', '5', '6', '7'],
    )
    const seqs = entries.map(({ seq }) => seq)
    assert.deepEqual(
      seqs,
      [...new Set(seqs)].toSorted((a, b) => a - b),
    )
  })

  test('an archive writes its audit entry with the first batch, and none when it moves nothing', async (t) => {
    const storage = await openLog(t, open)
    const file = newFile(t)
    const request = { before: BEFORE, file, write: { audit: newEntry({ subject: 'archive' }) } }

    await storage.archiveAudit(request)
    assert.equal(await storage.archiveAudit(request), 0)

    assert.deepEqual(await subjectsOf(storage), ['5', '6', 'archive'])
  })

  test('an archive that crashed at any byte continues without a lost or repeated entry', async (t) => {
    const full = newFile(t)
    await (await openLog(t, open)).archiveAudit({ before: BEFORE, file: full })
    const bytes = readFileSync(full)
    const line = bytes.indexOf('\n') + 1
    const cuts = [0, 1, 6, 7, 9, line - 2, line - 1, line, line + 1, bytes.length - 1, bytes.length]

    for (const cut of cuts) {
      // A test of its own, so that the next one uses the same storage.
      await t.test(`cut at ${cut}`, async (t) => {
        const storage = await openLog(t, open)
        const file = newFile(t)
        writeFileSync(file, bytes.subarray(0, cut)) // written, but not deleted from the log

        assert.equal(await storage.archiveAudit({ before: BEFORE, file }), 4)

        assert.deepEqual(readFileSync(file), bytes)
        assert.deepEqual(await subjectsOf(storage), ['5', '6'])
      })
    }
  })

  test('an archive refuses the file of another log, and deletes nothing', async (t) => {
    const storage = await openLog(t, open)
    const file = newFile(t)
    const line = JSON.stringify({ seq: 3, ...newEntry({ subject: 'foreign' }) })
    writeFileSync(file, `${line}\n`)

    const refused = storage.archiveAudit({ before: BEFORE, file })

    await assert.rejects(refused, { code: 'invalid_request', message: /archive into another file/ })
    assert.equal(readFileSync(file, 'utf8'), `${line}\n`)
    assert.equal((await subjectsOf(storage)).length, 6)
  })

  test('an archive refuses and does not change a file that is not an archive', async (t) => {
    const storage = await openLog(t, open)
    for (const text of ['notes', 'notes\n', '{"seq":"1"}\n', '[1]\n', `${'x'.repeat(70_000)}`]) {
      const file = newFile(t)
      writeFileSync(file, text)
      chmodSync(file, 0o644)

      const refused = storage.archiveAudit({ before: BEFORE, file })

      await assert.rejects(refused, { code: 'invalid_request', message: /not an archive/ })
      assert.equal(readFileSync(file, 'utf8'), text)
      assert.equal(statSync(file).mode & 0o777, 0o644)
      assert.equal((await subjectsOf(storage)).length, 6)
    }
  })

  test('an archive refuses a symbolic link and a directory', async (t) => {
    const storage = await openLog(t, open)
    const folder = temporaryFolder(t)
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'))
    mkdirSync(join(folder, 'directory'))

    for (const name of ['link', 'directory']) {
      const refused = storage.archiveAudit({ before: BEFORE, file: join(folder, name) })
      await assert.rejects(refused, { code: 'invalid_request', message: /link|directory/ })
    }

    assert.equal(statSync(join(folder, 'elsewhere'), { throwIfNoEntry: false }), undefined)
    assert.equal((await subjectsOf(storage)).length, 6)
  })

  test('an archive refuses a file of another user', {
    skip: process.getuid?.() !== 0 && 'only root may give a file away',
  }, async (t) => {
    const storage = await openLog(t, open)
    const file = newFile(t)
    writeFileSync(file, '')
    chmodSync(file, 0o666)
    chownSync(file, NOBODY, NOBODY)

    const refused = storage.archiveAudit({ before: BEFORE, file })

    await assert.rejects(refused, { code: 'invalid_request', message: /another user/ })
    assert.equal(readFileSync(file, 'utf8'), '')
    assert.equal(statSync(file).mode & 0o777, 0o666)
    assert.equal((await subjectsOf(storage)).length, 6)
  })

  test('an archive refuses a file with a second hard link', async (t) => {
    const storage = await openLog(t, open)
    const file = newFile(t)
    writeFileSync(file, '')
    linkSync(file, `${file}.link`)

    const refused = storage.archiveAudit({ before: BEFORE, file })

    await assert.rejects(refused, { code: 'invalid_request', message: /more than one link/ })
    assert.equal(readFileSync(file, 'utf8'), '')
    assert.equal((await subjectsOf(storage)).length, 6)
  })

  test('an archive sets the mode of an existing file to 0600', async (t) => {
    const storage = await openLog(t, open)
    const file = newFile(t)
    writeFileSync(file, '')
    chmodSync(file, 0o666)

    await storage.archiveAudit({ before: BEFORE, file })

    assert.equal(statSync(file).mode & 0o777, 0o600)
  })

  test('two concurrent archives into two files move each entry once', async (t) => {
    const storage = await openLog(t, open)
    const files = [newFile(t), newFile(t)]

    const archive = (file: string) => storage.archiveAudit({ before: BEFORE, file })
    const archived = await Promise.all(files.map(archive))

    assert.equal((archived[0] ?? 0) + (archived[1] ?? 0), 4)
    const subjects = files.flatMap(linesOf).map((line) => JSON.parse(line).subject)
    assert.deepEqual(subjects.toSorted(), OLD)
  })

  test('an aborted archive stops between two batches', async (t) => {
    const storage = await open(t)
    const write = { audit: newEntry({ at: DAYS[0] as string }) }
    await storage.insertAudit(...Array.from({ length: 2_500 }, () => write))
    const file = newFile(t)
    const controller = new AbortController()
    const onProgress = () => controller.abort()

    const { signal } = controller
    const ended = storage.archiveAudit({ before: BEFORE, file, onProgress, signal })

    await assert.rejects(ended, { name: 'AbortError' })
    const left = await storage.archiveAudit({ before: BEFORE, file })
    assert.ok(left > 0 && left < 2_500)
    assert.equal(linesOf(file).length, 2_500)
  })
}

/** Writes an audit log with one entry on each of six days. */
async function openLog(t: TestContext, open: OpenStorage): Promise<Storage> {
  const storage = await open(t)
  const entries = DAYS.map((at, i) => ({ audit: newEntry({ at, subject: String(i + 1) }) }))
  await storage.insertAudit(...entries)
  return storage
}

function newFile(t: TestContext): string {
  return join(temporaryFolder(t), 'audit.jsonl')
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1)
}

async function subjectsOf(storage: Storage): Promise<string[]> {
  return (await auditOf(storage)).map(({ subject }) => subject)
}
