import assert from 'node:assert/strict'
import { chmodSync, chownSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { mayRun, tillkitJson, tillkitProcess } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

// Root may use every file, so it runs the CLI as another user.
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const as = isRoot ? { uid: NOBODY } : {}
const skip = process.platform === 'win32' && 'modes there do not describe other users'
const CREATE = ['account', 'create', '--name', 'Studio', '--db']

async function newDatabase(t: TestContext): Promise<string> {
  const db = join(temporaryFolder(t), 'till.db')
  chmodSync(dirname(db), 0o755)
  await tillkitJson([...CREATE, db])
  return db
}

const readable = !isRoot || mayRun(NOBODY)
const others = isRoot ? !readable && 'other users may not read this folder' : 'only root has others'

test('the error for the database of another user names its owner', { skip: others }, async (t) => {
  const db = await newDatabase(t)
  const denied = (path: string, mode: string) =>
    `; ${path} has mode ${mode} and belongs to user 0, this is user ${NOBODY}: run it as that user\n`
  for (const [args, mode] of [
    [['check', '--db', db], 0o600],
    [[...CREATE, db], 0o644],
  ] as const) {
    chmodSync(db, mode)
    const { code, stdout, stderr } = await tillkitProcess(args, as)
    assert.deepEqual([code, stdout], [1, ''], stderr)
    assert.ok(stderr.endsWith(denied(db, `0${mode.toString(8)}`)), stderr)
  }
  const inFolder = await tillkitProcess([...CREATE, join(dirname(db), 'new.db')], as)
  assert.equal(inFolder.code, 1)
  assert.ok(inFolder.stderr.endsWith(denied(dirname(db), '0755')), inFolder.stderr)
})

const own = skip || (!readable && 'other users may not read this folder')

test('the error for a read-only database of this user tells how to open it', {
  skip: own,
}, async (t) => {
  const db = await newDatabase(t)
  if (isRoot) for (const path of [db, dirname(db)]) chownSync(path, NOBODY, NOBODY)
  chmodSync(db, 0o400)
  const { code, stderr } = await tillkitProcess([...CREATE, db], as)
  assert.equal(code, 1)
  assert.ok(stderr.endsWith(`; ${db} has mode 0400: chmod u+rwX ${db}\n`), stderr)
  assert.deepEqual(readdirSync(dirname(db)), ['till.db'], 'no other file is left beside it')
})
