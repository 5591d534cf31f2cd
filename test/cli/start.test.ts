import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

/** The modules of Node that a command loads. */
function loadedBy(...args: string[]): string[] {
  const print = `process.on('exit', () => console.error(JSON.stringify(process.moduleLoadList)))`
  const preload = `data:text/javascript,${encodeURIComponent(print)}`
  const main = ['--import', preload, 'dist/cli/main.js', ...args]
  const { stderr } = spawnSync(process.execPath, main, { encoding: 'utf8' })
  return JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
}

test('a command without a server starts without node:http, which would double its time', () => {
  assert.ok(loadedBy('openapi').includes('NativeModule http'))
  assert.ok(!loadedBy('--help').includes('NativeModule http'))
})
