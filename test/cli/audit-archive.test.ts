import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AuditEntry, formatInstant, openSqliteStorage } from '../../lib/index.ts'
import { tillkit, tillkitJson } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

const ENTRY: Omit<AuditEntry, 'subject'> = {
  at: '2024-01-01T00:00:00.000Z',
  actor: 'operator',
  action: 'store.update',
  account_id: 'acc_1',
  project_id: '',
  store_id: '',
  request_id: '',
}

test('audit archive moves old entries into a private file and prints their number', async (t) => {
  const { db, out } = await newLog(t)

  const args = ['audit', 'archive', '--db', db, '--before', '2024-02-01', '--out', out]
  const result = await tillkitJson(args)
  const { stdout } = await tillkit(args)

  assert.deepEqual(result, { archived: 3, file: out })
  assert.match(stdout, /^archived {2}0$/m)
  assert.deepEqual(subjectsOf(out), ['0', '1', '2'])
  assert.equal(statSync(out).mode & 0o777, 0o600)
  const { entries } = await tillkitJson(['audit', 'list', '--db', db])
  assert.deepEqual(
    entries.map(({ action, subject }: AuditEntry) => [action, subject]),
    [['audit.archive', '2024-02-01T00:00:00.000Z']],
  )
})

test('audit archive rejects young entries and a file of the database; a list can be followed', async (t) => {
  const { db, out } = await newLog(t)
  const young = formatInstant(Date.now() - 3_500_000)
  for (const [before, file] of [
    [young, out],
    ['2024-02-01', db],
  ] as const) {
    const args = ['audit', 'archive', '--db', db, '--before', before, '--out', file]
    assert.equal((await tillkit(args)).code, 2)
  }
  const followed = await tillkitJson(['audit', 'list', '--follow', '--db', db])
  assert.equal(followed.entries.length, 3)
  const later = ['audit', 'list', '--follow', '--cursor', followed.next, '--db', db]
  assert.deepEqual((await tillkitJson(later)).entries, [])
})

/** A database with an audit log of old entries. */
async function newLog(t: TestContext) {
  const folder = temporaryFolder(t)
  const db = join(folder, 'till.db')
  const storage = await openSqliteStorage(db)
  const entries = Array.from({ length: 3 }, (_, i) => ({ ...ENTRY, subject: String(i) }))
  await storage.insertAudit(...entries.map((audit) => ({ audit })))
  await storage.close()
  return { db, out: join(folder, 'audit.jsonl') }
}

function subjectsOf(file: string): string[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line).subject)
}
