// run: runtime
import assert from 'node:assert/strict'
import fs, {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
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
import { ARCHIVED, auditOf, newEntry } from '../support/storage/writes.ts'
import { openStorage } from '../support/till.ts'

const DAYS = [1, 2, 3, 4, 5, 6].map((day) => `2024-01-0${day}T00:00:00.000Z`)
const BEFORE = DAYS[4] as string

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

test('an archive refuses whatever exists at its path, and changes nothing', async (t) => {
  const storage = await openFilled()
  const kinds: Record<string, (file: string) => void> = {
    'a file': (file) => writeFileSync(file, ''),
    'an earlier archive': (file) => writeFileSync(file, '{"seq":1}\n'),
    'a directory': (file) => void mkdirSync(file),
    'a symbolic link': (file) => symlinkSync(`${file}.target`, file),
  }
  for (const [name, create] of Object.entries(kinds)) {
    const file = newFile(t)
    create(file)
    const before = lstatSync(file)

    const refused = storage.archiveAudit({ before: BEFORE, file, write: ARCHIVED })

    const error = { code: 'invalid_request', message: /exists: archive into a new file/ }
    await assert.rejects(refused, error, name)
    const { size, mode, mtimeMs } = lstatSync(file)
    assert.deepEqual([size, mode, mtimeMs], [before.size, before.mode, before.mtimeMs])
    assert.equal((await subjectsOf(storage)).length, 6)
    assert.equal(existsSync(`${file}.target`), false)
  }
})

test('an archive of nothing leaves no file', async (t) => {
  const file = newFile(t)
  assert.equal(
    await createMemoryStorage().archiveAudit({ before: BEFORE, file, write: ARCHIVED }),
    0,
  )
  assert.equal(existsSync(file), false)
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

    const archiving = storage.archiveAudit({ before: BEFORE, file, write: ARCHIVED })
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
  const first = newFile(t)
  const controller = new AbortController()
  const aborted = storage.archiveAudit({
    ...{ before: BEFORE, file: first, write: ARCHIVED, signal: controller.signal },
    onProgress: () => controller.abort(),
  })
  await assert.rejects(aborted, { name: 'AbortError' })

  const second = newFile(t)
  const archived = await storage.archiveAudit({ before: BEFORE, file: second, write: ARCHIVED })

  assert.ok(archived > 0 && archived < 2_050, String(archived))
  assert.deepEqual(
    [first, second].flatMap(entriesIn).map(({ subject }) => subject),
    subjects.slice(0, 2_050),
  )
  assert.deepEqual(await subjectsOf(storage), subjects.slice(2_050))
  // A number is not used again after all others are gone.
  const files = [first, second, newFile(t), newFile(t)]
  const archiveAll = (file = '') =>
    storage.archiveAudit({ before: '2025-01-01T00:00:00.000Z', file, write: ARCHIVED })
  assert.equal(await archiveAll(files[2]), 52) // with the entries of two archives
  await insertEntries(storage, [{ at: DAYS[5] }])
  assert.equal(await archiveAll(files[3]), 2)
  const seqs = files.flatMap(entriesIn).map(({ seq }) => seq)
  assert.deepEqual(
    seqs,
    [...new Set(seqs)].toSorted((a, b) => a - b),
  )
})

testOnEach('two concurrent archives into two files move each entry once', async (t) => {
  const storage = await openStorage()
  await insertDays(storage)
  const files = [newFile(t), newFile(t)]

  const archive = (file: string) => storage.archiveAudit({ before: BEFORE, file, write: ARCHIVED })
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
  const entries = (await auditOf(storage)).filter(({ action }) => action !== 'audit.archive')
  return entries.map(({ subject }) => subject)
}
