import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { type AuditEntry, formatInstant } from '../../lib/index.ts'
import { tillkit, tillkitJson } from '../support/cli.ts'
import { newPlace } from '../support/place.ts'

/** A database whose audit log has entries of 2024. */
async function newLog(t: TestContext) {
  const place = newPlace(t)
  await (await place.shop()).till.close()
  const list = ['audit', 'list', '--db', place.path]
  const { entries } = await tillkitJson(list)
  return { db: place.path, out: `${place.path}.jsonl`, list, entries: entries as AuditEntry[] }
}

test('audit archive moves old entries into a private file and prints their number', async (t) => {
  const { db, out, list, entries } = await newLog(t)

  const args = ['audit', 'archive', '--db', db, '--before', '2024-04-01', '--out', out]
  const result = await tillkitJson(args)
  const { code, stderr } = await tillkit(args)
  const nothing = await tillkitJson([...args.slice(0, -1), `${out}.2`])

  assert.deepEqual(result, { archived: entries.length, file: out })
  assert.equal(code, 1)
  assert.match(stderr, /it exists: archive into a new file/)
  assert.deepEqual(nothing, { archived: 0 })
  const archived = readFileSync(out, 'utf8').trimEnd().split('\n')
  assert.deepEqual(
    archived.map((line) => JSON.parse(line)),
    entries.map((entry, i) => ({ seq: i + 1, ...entry })),
  )
  assert.equal(statSync(out).mode & 0o777, 0o600)
  const left: AuditEntry[] = (await tillkitJson(list)).entries
  assert.deepEqual(
    left.map(({ action, subject }) => [action, subject]),
    [['audit.archive', '2024-04-01T00:00:00.000Z']],
  )
})

test('audit archive rejects young entries and a file of the database; a list can be followed', async (t) => {
  const { db, out, list, entries } = await newLog(t)
  const young = formatInstant(Date.now() - 3_500_000)
  for (const [before, file] of [
    [young, out],
    ['2024-02-01', db],
  ] as const) {
    const args = ['audit', 'archive', '--db', db, '--before', before, '--out', file]
    assert.equal((await tillkit(args)).code, 2)
  }
  const followed = await tillkitJson([...list, '--follow'])
  assert.deepEqual(followed.entries, entries)
  const later = await tillkitJson([...list, '--follow', '--cursor', followed.next])
  assert.deepEqual(later.entries, [])
})
