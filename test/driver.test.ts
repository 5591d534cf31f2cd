// run: runtime
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from './support/folder.ts'

const runIn = (folder: string) => {
  const script = join(folder, 'scripts/driver.mjs')
  return spawnSync(process.execPath, [script], { env: { PATH: folder }, encoding: 'utf8' })
}

test('npm start and npm test begin at once where a SQLite driver works', () => {
  const { status, stdout, stderr } = runIn('.')
  assert.deepEqual([status, stdout, stderr], [0, '', ''])
})

const skip = isBuiltin('node:sqlite') && 'this Node has its own SQLite'
test('npm start and npm test end with a reason where no driver can be compiled', { skip }, (t) => {
  const folder = temporaryFolder(t)
  cpSync('scripts', join(folder, 'scripts'), {
    recursive: true,
    filter: (path) => !path.endsWith('node_modules'),
  })

  const { status, stdout, stderr } = runIn(folder) // finds no npm

  const lines = stderr.trimEnd().split('\n')
  assert.deepEqual([status, stdout], [1, ''])
  assert.match(lines[0] ?? '', /^Node v\S+ has no SQLite of its own .*: compiling better-sqlite3/)
  assert.match(
    lines.at(-1) ?? '',
    /could not be installed: it needs .*or use Node 22\.13 or later$/i,
  )
})
