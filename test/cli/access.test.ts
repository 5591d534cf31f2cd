import assert from 'node:assert/strict'
import { chmodSync, chownSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { mayRun, tillkit, tillkitJson } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

// Root may use every file, whatever its mode: it has to run the CLI as somebody else.
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const as = isRoot ? { uid: NOBODY } : {}
const skip = process.platform === 'win32' && 'modes say nothing of others there'
const CREATE = ['account', 'create', '--name', 'Studio', '--db']

async function newDatabase(t: TestContext): Promise<string> {
  const db = join(temporaryFolder(t), 'till.db')
  chmodSync(dirname(db), 0o755)
  await tillkitJson([...CREATE, db])
  return db
}

const readable = !isRoot || mayRun(NOBODY)
const others = isRoot ? !readable && 'others may not read this folder' : 'only root has others'

test('a database of another user is refused with whose it is', { skip: others }, async (t) => {
  const db = await newDatabase(t)
  const closed = (path: string, mode: string) =>
    `; ${path} has mode ${mode} and belongs to user 0, this is user ${NOBODY}: run it as that one\n`
  for (const [args, mode] of [
    [['check', '--db', db], 0o600],
    [['serve', '--port', '0', '--db', db], 0o600],
    [[...CREATE, db], 0o644],
  ] as const) {
    chmodSync(db, mode)
    const { code, stdout, stderr } = await tillkit(args, as)
    assert.deepEqual([code, stdout], [1, ''], stderr)
    assert.ok(stderr.endsWith(closed(db, `0${mode.toString(8)}`)), stderr)
  }
  const inFolder = await tillkit([...CREATE, join(dirname(db), 'new.db')], as)
  assert.equal(inFolder.code, 1)
  assert.ok(inFolder.stderr.endsWith(closed(dirname(db), '0755')), inFolder.stderr)
})

const own = skip || (!readable && 'others may not read this folder')

test('a database of one’s own that may only be read is told how to open', {
  skip: own,
}, async (t) => {
  const db = await newDatabase(t)
  if (isRoot) for (const path of [db, dirname(db)]) chownSync(path, NOBODY, NOBODY)
  chmodSync(db, 0o400)
  const { code, stderr } = await tillkit([...CREATE, db], as)
  assert.equal(code, 1)
  assert.ok(stderr.endsWith(`; ${db} has mode 0400: chmod u+rwX ${db}\n`), stderr)
})
