// run: runtime
import assert from 'node:assert/strict'
import fs, {
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
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AuditEntry } from '../../lib/domain/audit.ts'
import { createMemoryStorage, type Storage } from '../../lib/index.ts'
import { testOnEach } from '../support/databases.ts'
import { temporaryFolder } from '../support/folder.ts'
import { auditOf, newEntry } from '../support/storage/writes.ts'
import { openStorage } from '../support/till.ts'

const NOBODY = 65_534
const DAYS = [1, 2, 3, 4, 5, 6].map((day) => `2024-01-0${day}T00:00:00.000Z`)
const BEFORE = DAYS[4] as string

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

/** Inserts an entry on each of six days. */
const insertDays = (storage: Storage) =>
  insertEntries(
    storage,
    DAYS.map((at, i) => ({ at, subject: String(i + 1) })),
  )

async function openFilled() {
  const storage = createMemoryStorage()
  await insertDays(storage)
  return storage
}

test('an archive that crashed at any byte continues without a lost or repeated entry', async (t) => {
  const full = newFile(t)
  await (await openFilled()).archiveAudit({ before: BEFORE, file: full })
  const bytes = readFileSync(full)
  const line = bytes.indexOf('\n') + 1
  const cuts = [0, 1, 6, 7, 9, line - 2, line - 1, line, line + 1, bytes.length - 1, bytes.length]

  for (const cut of cuts) {
    const storage = await openFilled()
    const file = newFile(t)
    writeFileSync(file, bytes.subarray(0, cut)) // written, but not deleted from the log

    assert.equal(await storage.archiveAudit({ before: BEFORE, file }), 4)

    assert.deepEqual(readFileSync(file), bytes)
    assert.deepEqual(await subjectsOf(storage), ['5', '6'])
  }
})

test('an archive refuses a file that it did not write, and changes nothing', async (t) => {
  const storage = await openFilled()
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

for (const [code, left] of [
  ['EPERM', 2],
  ['EINVAL', 2],
  ['EIO', 6],
] as const) {
  test(`an archive succeeds only when fsync of its directory does or is not supported: ${code}`, async (t) => {
    const storage = await openFilled()
    const file = newFile(t)
    refuseToSyncFolders(t, code)

    const archiving = storage.archiveAudit({ before: BEFORE, file })
    if (left === 6) await assert.rejects(archiving, { code: 'invalid_request' })
    else assert.equal(await archiving, 4)

    assert.equal((await subjectsOf(storage)).length, left)
  })
}

testOnEach('an archive of many batches has each entry once, also after an abort', async (t) => {
  const storage = await openStorage()
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
  // A number is not used again after all entries are gone.
  const archiveAll = () => storage.archiveAudit({ before: '2025-01-01T00:00:00.000Z', file })
  assert.equal(await archiveAll(), 50)
  await insertEntries(storage, [{ at: DAYS[5] }])
  assert.equal(await archiveAll(), 1)
  const seqs = entriesIn(file).map(({ seq }) => seq)
  assert.deepEqual(
    seqs,
    [...new Set(seqs)].toSorted((a, b) => a - b),
  )
})

testOnEach('two concurrent archives into two files move each entry once', async (t) => {
  const storage = await openStorage()
  await insertDays(storage)
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

/** Makes fsync fail, as Windows does for a directory. */
function refuseToSyncFolders(t: TestContext, code: string): void {
  const sync = fs.fsyncSync
  const mocked = t.mock.method(fs, 'fsyncSync', (fd: number) => {
    if (!fs.fstatSync(fd).isDirectory()) return sync(fd)
    throw Object.assign(new Error(`${code}: fsync`), { code })
  })
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
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
