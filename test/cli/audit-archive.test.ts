import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type AuditEntry, formatInstant, openSqliteStorage } from '../../lib/index.ts'
import { start, tillkit, tillkitJson } from '../support/cli.ts'
import { pluck } from '../support/collect.ts'
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
  const { db, out } = await newLog(t, 3)

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

test('audit archive rejects young entries, a symbolic link and a file of the database', async (t) => {
  const { db, out } = await newLog(t, 3)
  const link = join(out, '..', 'link')
  symlinkSync(out, link)
  const young = formatInstant(Date.now() - 3_500_000)
  const archive = (before: string, file: string) =>
    tillkit(['audit', 'archive', '--db', db, '--before', before, '--out', file])

  const results = []
  for (const [before, file] of [
    [young, out],
    ['2024-02-01', link],
    ['2024-02-01', db],
  ] as const) {
    results.push(await archive(before, file))
  }

  assert.deepEqual(pluck(results, 'code'), [2, 1, 2])
  assert.match(results[0]?.stderr ?? '', /--before must be at least one hour ago/)
  assert.equal((await tillkitJson(['audit', 'list', '--db', db])).entries.length, 3)
  const followed = await tillkitJson(['audit', 'list', '--follow', '--db', db])
  assert.equal(followed.entries.length, 3)
  const later = ['audit', 'list', '--follow', '--cursor', followed.next, '--db', db]
  assert.deepEqual((await tillkitJson(later)).entries, [])
})

test('audit archive, killed repeatedly, loses no entry and writes none twice', async (t) => {
  const count = 10_000
  const { db, out } = await newLog(t, count)
  const args = ['audit', 'archive', '--db', db, '--before', '2024-02-01', '--out', out]

  for (let kills = 0; kills < 3; kills++) {
    const before = sizeOf(out)
    const child = start(args, {})
    const closed = once(child, 'close')
    while (sizeOf(out) === before && child.exitCode === null) await setTimeout(1)
    await setTimeout(Math.random() * 20)
    child.kill('SIGKILL')
    await closed
  }
  await tillkitJson(args)

  assert.deepEqual(
    subjectsOf(out),
    Array.from({ length: count }, (_, i) => String(i)),
  )
  const { entries } = await tillkitJson(['audit', 'list', '--db', db, '--limit', '1000'])
  assert.ok(
    entries.length <= 6 && entries.every(({ action }: AuditEntry) => /archive/.test(action)),
  )
})

/** A database with an audit log of old entries. */
async function newLog(t: TestContext, count: number) {
  const folder = temporaryFolder(t)
  const db = join(folder, 'till.db')
  const storage = await openSqliteStorage(db)
  const entries = Array.from({ length: count }, (_, i) => ({ ...ENTRY, subject: String(i) }))
  await storage.insertAudit(...entries.map((audit) => ({ audit })))
  await storage.close()
  return { db, out: join(folder, 'audit.jsonl') }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function subjectsOf(file: string): string[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line).subject)
}
