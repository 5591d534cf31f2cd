import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { tillkitProcess } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

const list = (home: string) =>
  tillkitProcess(['account', 'list', '--json', '--db', 'memory:'], { env: { HOME: home } })

function filesIn(home: string): string[] {
  const cache = join(home, '.cache', 'tillkit')
  return readdirSync(cache, { recursive: true, encoding: 'utf8' })
    .map((name) => join(cache, name))
    .filter((file) => statSync(file).isFile())
}

test('a command keeps its compiled code for the next one, which compiles again what is cut off', async (t) => {
  const home = temporaryFolder(t)

  const first = await list(home)
  const files = filesIn(home)
  const times = files.map((file) => statSync(file).mtimeMs)
  const second = await list(home)
  const unchanged = files.map((file) => statSync(file).mtimeMs)
  for (const file of files) truncateSync(file, 100)
  const third = await list(home)

  assert.deepEqual(first, { code: 0, stdout: '{\n  "accounts": []\n}\n', stderr: '' })
  assert.deepEqual([second, third], [first, first])
  assert.ok(files.length > 5)
  assert.deepEqual(unchanged, times)
  assert.ok(files.every((file) => statSync(file).size > 100))
})

test('a folder into which others may write is not used: they could give a command other code', {
  skip: 'enableCompileCache' in module && 'Node keeps the code',
}, async (t) => {
  const home = temporaryFolder(t)
  const folder = join(home, '.cache', 'tillkit', process.version)
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o1777)

  assert.equal((await list(home)).code, 0)

  assert.deepEqual(filesIn(home), [])
})

test('a command runs where its compiled code cannot be kept', async (t) => {
  const home = join(temporaryFolder(t), 'file')
  writeFileSync(home, '')

  const { code, stderr } = await list(home)

  assert.deepEqual([code, stderr], [0, ''])
})
