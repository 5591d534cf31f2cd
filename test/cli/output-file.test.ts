import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createOutputFile } from '../../cli/output-file.ts'
import { createIo, mayRun, tillkit, tillkitProcess } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createShopFile } from '../support/served.ts'

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const windows = process.platform === 'win32' && 'Windows lets only administrators create links'
const asNobody = isRoot
  ? !mayRun(NOBODY) && 'other users may not read this folder'
  : 'only root has others'

const url = 'https://shop.example'
const writeTo = (out: string) => tillkit(['openapi', '--url', url, '--out', out])

test('a symbolic link at the path of the file is replaced, and none beside it is followed', {
  skip: windows,
}, async (t) => {
  const folder = temporaryFolder(t)
  const victim = join(temporaryFolder(t), 'passwd')
  writeFileSync(victim, 'kept', { mode: 0o644 })
  for (const [name, to] of [
    ['file', victim],
    ['device', '/dev/full'], // writing into it fails
    ['nowhere', join(folder, 'made')],
  ] as const) {
    const out = join(folder, name)
    symlinkSync(to, out)
    symlinkSync(victim, `${out}.part`) // a predictable temporary name
    assert.equal((await writeTo(out)).code, 0, name)
    assert.ok(lstatSync(out).isFile(), name)
    assert.equal(statSync(out).mode & 0o777, 0o600, name)
    assert.equal(readlinkSync(`${out}.part`), victim)
  }
  assert.deepEqual(JSON.parse(readFileSync(join(folder, 'file'), 'utf8')).servers, [{ url }])
  assert.equal(readFileSync(victim, 'utf8'), 'kept')
  assert.equal(statSync(victim).mode & 0o777, 0o644)
  assert.equal(readdirSync(folder).length, 6, 'no temporary file is left, no target was created')
})

test('a world-writable file of another user is replaced by a private one', {
  skip: asNobody,
}, async (t) => {
  const out = join(temporaryFolder(t), 'out')
  writeFileSync(out, '')
  chmodSync(out, 0o666)
  chownSync(out, NOBODY, NOBODY)
  assert.equal((await writeTo(out)).code, 0)
  const { uid, mode } = statSync(out)
  assert.deepEqual([uid, mode & 0o777], [0, 0o600])
})

test('a directory as output file is wrong usage', async (t) => {
  const folder = temporaryFolder(t)
  if (!windows) symlinkSync(folder, join(folder, 'link'))
  for (const each of windows ? [folder] : [folder, join(folder, 'link'), join(folder, 'none/')]) {
    const { code, stderr } = await writeTo(each)
    assert.deepEqual([code, /is a directory, not a file/.test(stderr)], [2, true], stderr)
  }
})

test('an output file in a directory without write permission is wrong usage', {
  skip: asNobody,
}, async (t) => {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const args = ['openapi', '--out', join(folder, 'out')]
  const { code, stderr } = await tillkitProcess(args, { uid: NOBODY })
  assert.deepEqual([code, /--out: .*: this user has no permission/.test(stderr)], [2, true], stderr)
})

const linux = process.platform !== 'linux' && 'only Linux has /proc'

test('an output to /proc/self/fd/1 is appended and replaces no file', {
  skip: linux,
}, async (t) => {
  const sent = join(temporaryFolder(t), 'sent')
  writeFileSync(sent, 'before\n')
  const stdout = openSync(sent, 'a')
  t.after(() => closeSync(stdout))
  const args = ['dist/cli/main.js', 'openapi', '--out', '/proc/self/fd/1']
  const child = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'inherit'] })
  assert.deepEqual(await once(child, 'close'), [0, null])
  const { stdout: document } = await tillkit(['openapi'])
  assert.equal(readFileSync(sent, 'utf8'), `before\n${document}`)
})

test('the temporary file is private, has a new name and is deleted after an error', async (t) => {
  const folder = temporaryFolder(t)
  const out = join(folder, 'out.csv')
  writeFileSync(out, 'before')
  const target = createOutputFile({ io: createIo(), inputs: [] }, '--out', out)
  const names = new Set<string>()
  for (const _ of [1, 2]) {
    async function* failing() {
      yield 'half'
      const [name = ''] = readdirSync(folder).filter((each) => each !== 'out.csv')
      names.add(name)
      if (!windows) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
      throw new Error('write failed')
    }
    await assert.rejects(target.write(failing()), /write failed/)
  }
  assert.equal(names.size, 2, 'the name is new each time')
  assert.deepEqual(readdirSync(folder), ['out.csv'])
  assert.equal(readFileSync(out, 'utf8'), 'before')
})

test('no database is created through a dangling symbolic link', { skip: windows }, async (t) => {
  const folder = temporaryFolder(t)
  const db = join(folder, 'till.db')
  symlinkSync(join(folder, 'elsewhere.db'), db)
  const { code, stderr } = await tillkit(['account', 'create', '--name', 'Studio', '--db', db])
  assert.equal(code, 1)
  assert.match(stderr, /symbolic link to a file that is not there/)
  assert.deepEqual(readdirSync(folder), ['till.db'])
})

test('no command overwrites a database, the files beside it, or a file that it reads', async (t) => {
  const { folder, db, ofStore, ofProject } = await createShopFile(t)
  const other = join(folder, 'other.db')
  assert.equal((await tillkit(['account', 'create', '--name', 'Other', '--db', other])).code, 0)
  const files = {
    'sales.csv': 'transaction_id,sku,purchased_at\nT-1,gold,2024-01-15T10:00:00Z\n',
    'skus.csv': 'vendor_sku,item\ngold,gold\n',
    'shop.json': '{}',
    'catalog.json': '{"stores":[]}',
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const at = (name: keyof typeof files) => join(folder, name)
  const [sales, skus, layout] = [at('sales.csv'), at('skus.csv'), at('shop.json')]
  const catalog = at('catalog.json')
  const inDb = ['--db', db]
  const period = ['--from', '2024-01-01', '--to', '2024-02-01']
  const rows: readonly (readonly [words: readonly string[], option: string, own?: string])[] = [
    [['openapi'], '--out'],
    [['catalog', 'types', catalog], '--out', catalog],
    [['catalog', 'export', ...ofProject, ...inDb], '--out'],
    [['purchases', 'export', ...ofStore, ...inDb], '--out'],
    [['users', 'export', 'ann', ...ofProject, ...inDb], '--out'],
    [['audit', 'archive', '--before', '2024-01-01', ...inDb], '--out'],
    [['purchases', 'explain', sales], '--out', sales],
    [['purchases', 'import', sales, ...ofStore, ...inDb], '--report', sales],
    [['purchases', 'import', sales, '--skus', skus, ...ofStore, ...inDb], '--report', skus],
    [['purchases', 'import', sales, '--layout', layout, ...ofStore, ...inDb], '--report', layout],
    [['purchases', 'reconcile', sales, ...period, ...ofStore, ...inDb], '--report', sales],
  ]
  const before = readFileSync(other)
  for (const [words, option, own] of rows) {
    const refused = [db, other, ...['-wal', '-shm'].map((end) => other + end)]
    for (const path of own ? [...refused, own] : refused) {
      const { code, stderr } = await tillkit([...words, `${option}=${path}`])
      const reason = path === own ? 'what this command reads' : 'a database'
      assert.equal(code, 2, `${words} ${path} ${stderr}`)
      assert.ok(stderr.includes(`${option} ${path} would overwrite ${reason}\n`), stderr)
    }
  }
  assert.deepEqual(readFileSync(other), before)
  for (const [name, text] of Object.entries(files)) {
    assert.equal(readFileSync(join(folder, name), 'utf8'), text)
  }
})
