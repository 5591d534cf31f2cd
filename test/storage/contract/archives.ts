import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import {
  BEFORE,
  DAYS,
  entriesIn,
  insertDays,
  insertEntries,
  LATE,
  newFile,
  subjectsOf,
} from '../fixtures/archives.ts'
import { newEntry } from '../fixtures/writes.ts'
import { type OpenStorage, testsOn } from './open.ts'

export function describeArchives(open: OpenStorage): void {
  const test = testsOn(open, insertDays)
  const testEmpty = testsOn(open, async () => {})

  test('an archive moves old entries into a file with mode 0600, and continues it', async (storage, t) => {
    const file = newFile(t)
    writeFileSync(file, '', { mode: 0o666 })
    const reported: number[] = []
    const request = {
      ...{ before: BEFORE, file, write: { audit: newEntry({ subject: 'archive' }) } },
      onProgress: (archived: number) => void reported.push(archived),
    }

    assert.equal(await storage.archiveAudit(request), 4)
    assert.equal(await storage.archiveAudit(request), 0)

    assert.deepEqual(reported, [4, 0])
    assert.deepEqual(await subjectsOf(storage), ['5', '6', 'archive'])
    const expected = DAYS.slice(0, 4).map((at, i) => newEntry({ subject: String(i + 1), at }))
    assert.deepEqual(
      entriesIn(file).map(({ seq: _, ...entry }) => entry),
      expected,
    )
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(await storage.check(), [])

    // The clock was wrong for an entry. An archive stops at the first newer one.
    await insertEntries(storage, [{ at: '2025-06-01T00:00:00.000Z' }, { subject: '8' }])
    assert.equal(await storage.archiveAudit({ before: LATE, file }), 3)
    await storage.archiveAudit({ before: '2026-01-01T00:00:00.000Z', file })

    assert.deepEqual(await subjectsOf(storage), [])
    const seqs = entriesIn(file).map(({ seq }) => seq)
    assert.equal(seqs.length, 9)
    const ascending = [...new Set(seqs)].toSorted((a, b) => a - b)
    assert.deepEqual(seqs, ascending, 'a number is used twice')
  })

  testEmpty(
    'an archive of many batches writes each entry once, and stops between two when it is aborted',
    async (storage, t) => {
      const subjects = Array.from({ length: 2_100 }, (_, i) => String(i))
      await insertEntries(
        storage,
        subjects.map((subject, i) => ({ subject, at: i < 2_050 ? DAYS[0] : DAYS[5] })),
      )
      const file = newFile(t)
      const controller = new AbortController()
      const aborted = storage.archiveAudit({
        ...{ before: BEFORE, file, signal: controller.signal },
        onProgress: () => controller.abort(),
      })
      await assert.rejects(aborted, { name: 'AbortError' })

      const archived = await storage.archiveAudit({ before: BEFORE, file })

      assert.ok(archived > 0 && archived < 2_050, String(archived))
      assert.deepEqual(
        entriesIn(file).map(({ subject }) => subject),
        subjects.slice(0, 2_050),
      )
      const left = await storage.listAudit(undefined, { limit: 1000 })
      assert.deepEqual(
        left.entries.map(({ subject }) => subject),
        subjects.slice(2_050),
      )
    },
  )

  test('two concurrent archives into two files move each entry once', async (storage, t) => {
    const files = [newFile(t), newFile(t)]

    const archive = (file: string) => storage.archiveAudit({ before: BEFORE, file })
    const [first = 0, second = 0] = await Promise.all(files.map(archive))

    assert.equal(first + second, 4)
    const subjects = files.flatMap((file) => (existsSync(file) ? entriesIn(file) : []))
    assert.equal(
      subjects
        .map(({ subject }) => subject)
        .toSorted()
        .join(''),
      '1234',
    )
  })
}
