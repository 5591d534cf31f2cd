import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { AuditEntry } from '../../../lib/domain/audit.ts'
import type { Storage } from '../../../lib/storage/port.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { auditOf, newEntry } from '../fixtures/writes.ts'
import { type OpenStorage, testsOn } from './open.ts'

const DAYS = ['01', '02', '03', '04', '05', '06'].map((day) => `2024-01-${day}T00:00:00.000Z`)
const BEFORE = DAYS[4] as string
const LATE = '2025-01-01T00:00:00.000Z'
const NOBODY = 65_534

const OTHER_LOG = 'the file of another log'

/** Files that an archive refuses without a change. */
const REFUSED: Record<string, { readonly message: RegExp; create(file: string): void }> = {
  [OTHER_LOG]: {
    message: /archive into another file/,
    create: (file) => {
      writeFileSync(file, `${JSON.stringify({ seq: 3, ...newEntry({ subject: 'foreign' }) })}\n`)
    },
  },
  ...Object.fromEntries(
    ['notes', 'notes\n', '{"seq":"1"}\n', '[1]\n', 'x'.repeat(70_000)].map((text) => [
      `a file with ${text.slice(0, 20)}`,
      { message: /not an archive/, create: (file: string) => writeFileSync(file, text) },
    ]),
  ),
  'a directory': { message: /directory/, create: (file) => void mkdirSync(file) },
  'a symbolic link': { message: /link/, create: (file) => symlinkSync(`${file}.target`, file) },
  'a file with a second hard link': {
    message: /more than one link/,
    create(file) {
      writeFileSync(file, '')
      linkSync(file, `${file}.link`)
    },
  },
  ...(process.getuid?.() === 0 && {
    'a file of another user': {
      message: /another user/,
      create(file: string) {
        writeFileSync(file, '')
        chownSync(file, NOBODY, NOBODY)
      },
    },
  }),
}

export function describeArchives(open: OpenStorage): void {
  /** The log has one entry on each of six days. */
  const test = testsOn(open, async (storage) => {
    await insertEntries(
      storage,
      DAYS.map((at, i) => ({ at, subject: String(i + 1) })),
    )
  })
  const testEmpty = testsOn(open, async () => {})

  test('an archive moves the entries before a time into a file with mode 0600', async (storage, t) => {
    const file = newFile(t)
    writeFileSync(file, '')
    chmodSync(file, 0o666)
    const reported: number[] = []
    const request = {
      ...{ before: BEFORE, file, write: { audit: newEntry({ subject: 'archive' }) } },
      onProgress: (archived: number) => void reported.push(archived),
    }

    assert.equal(await storage.archiveAudit(request), 4)
    assert.equal(await storage.archiveAudit(request), 0)

    assert.deepEqual(reported, [4, 0])
    assert.deepEqual(await subjectsOf(storage), ['5', '6', 'archive'])
    const expected = ['1', '2', '3', '4'].map((subject, i) =>
      newEntry({ subject, at: DAYS[i] as string }),
    )
    assert.deepEqual(
      entriesIn(file).map(({ seq: _, ...entry }) => entry),
      expected,
    )
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(await storage.check(), [])
  })

  test('an archive continues the file of an earlier one, and no number is used twice', async (storage, t) => {
    const file = newFile(t)
    await storage.archiveAudit({ before: LATE, file })
    assert.deepEqual(await subjectsOf(storage), [])
    await insertEntries(storage, [{ subject: '7' }])

    assert.equal(await storage.archiveAudit({ before: LATE, file }), 1)

    const entries = entriesIn(file)
    assert.equal(entries.map(({ subject }) => subject).join(''), '1234567')
    const seqs = entries.map(({ seq }) => seq)
    const ascending = [...new Set(seqs)].toSorted((a, b) => a - b)
    assert.deepEqual(seqs, ascending)
  })

  testEmpty(
    'an archive stops at the first newer entry, and the next run continues in its file',
    async (storage, t) => {
      // The clock was wrong for the second entry.
      await insertEntries(
        storage,
        [DAYS[0], DAYS[5], DAYS[1]].map((at, i) => ({ at, subject: String(i + 1) })),
      )
      const file = newFile(t)

      assert.equal(await storage.archiveAudit({ before: BEFORE, file }), 1)
      assert.deepEqual(await subjectsOf(storage), ['2', '3'])
      assert.equal(await storage.archiveAudit({ before: LATE, file }), 2)

      assert.equal(
        entriesIn(file)
          .map(({ subject }) => subject)
          .join(''),
        '123',
      )
    },
  )

  testEmpty(
    'an archive of many batches writes each entry once, and stops between two when it is aborted',
    async (storage, t) => {
      const subjects = Array.from({ length: 4_500 }, (_, i) => String(i))
      await insertEntries(
        storage,
        subjects.map((subject, i) => ({ subject, at: i < 4_050 ? DAYS[0] : DAYS[5] })),
      )
      const file = newFile(t)
      const controller = new AbortController()
      const aborted = storage.archiveAudit({
        ...{ before: BEFORE, file, signal: controller.signal },
        onProgress: () => controller.abort(),
      })
      await assert.rejects(aborted, { name: 'AbortError' })

      const archived = await storage.archiveAudit({ before: BEFORE, file })

      assert.ok(archived > 0 && archived < 4_050, String(archived))
      assert.deepEqual(
        entriesIn(file).map(({ subject }) => subject),
        subjects.slice(0, 4_050),
      )
      const left = await storage.listAudit(undefined, { limit: 1000 })
      assert.deepEqual(
        left.entries.map(({ subject }) => subject),
        subjects.slice(4_050),
      )
    },
  )

  test('an archive that crashed at any byte continues without a lost or repeated entry', async (storage, t) => {
    const full = newFile(t)
    await storage.archiveAudit({ before: BEFORE, file: full })
    const bytes = readFileSync(full)
    const line = bytes.indexOf('\n') + 1
    const cuts = [0, 1, 6, 7, 9, line - 2, line - 1, line, line + 1, bytes.length - 1, bytes.length]

    for (const cut of cuts) {
      // A test of its own, so that the next one uses the same storage.
      await t.test(`cut at ${cut}`, async (t) => {
        const storage = await open(t)
        await insertEntries(
          storage,
          DAYS.map((at, i) => ({ at, subject: String(i + 1) })),
        )
        const file = newFile(t)
        writeFileSync(file, bytes.subarray(0, cut)) // written, but not deleted from the log

        assert.equal(await storage.archiveAudit({ before: BEFORE, file }), 4)

        assert.deepEqual(readFileSync(file), bytes)
        assert.deepEqual(await subjectsOf(storage), ['5', '6'])
      })
    }
  })

  test('an archive refuses a file that it did not write, and changes nothing', async (storage, t) => {
    for (const [name, { message, create }] of Object.entries(REFUSED)) {
      const file = newFile(t)
      create(file)
      const isFile = existsSync(file) && statSync(file).isFile()
      if (isFile) chmodSync(file, 0o644)
      const before = isFile && readFileSync(file)

      const refused = storage.archiveAudit({ before: BEFORE, file })

      await assert.rejects(refused, { code: 'invalid_request', message }, name)
      assert.equal((await subjectsOf(storage)).length, 6)
      assert.equal(existsSync(`${file}.target`), false)
      if (!isFile) continue
      assert.deepEqual(readFileSync(file), before)
      if (name !== OTHER_LOG) assert.equal(statSync(file).mode & 0o777, 0o644)
    }
  })

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

async function insertEntries(
  storage: Storage,
  entries: readonly { readonly [K in keyof AuditEntry]?: AuditEntry[K] | undefined }[],
): Promise<void> {
  const writes = entries.map((entry) => ({ audit: newEntry(entry as Partial<AuditEntry>) }))
  await storage.insertAudit(...writes)
}

function newFile(t: TestContext): string {
  return join(temporaryFolder(t), 'audit.jsonl')
}

function entriesIn(file: string): (AuditEntry & { seq: number })[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

async function subjectsOf(storage: Storage): Promise<string[]> {
  return (await auditOf(storage)).map(({ subject }) => subject)
}
