import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { limits } from '../http/limits.ts'

test('the table of limits names every limit of the server', () => {
  const page = readFileSync('docs/operations.md', 'utf8')
  const table = page.slice(page.indexOf('## Limits'), page.indexOf('**Shares.**'))
  // How long a stop takes is told where a stop is.
  const elsewhere = ['drainDelay', 'stopIdleTimeout', 'stopTimeout', 'uploadMemory', 'accountShare']
  const missing = Object.keys(limits).filter((name) => !table.includes(`\`${name}\``))
  assert.deepEqual(missing.sort(), elsewhere.sort())
})
