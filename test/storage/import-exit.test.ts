import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/folder.ts'
import { soakOnly } from '../support/soak.ts'

const IMPORTER = fileURLToPath(new URL('./fixtures/importer.ts', import.meta.url))
const PROGRAMS = 24
const AT_ONCE = 4

// Three of these 24 programs ended early before the cause was found, which `import-thread.test.ts`
// tests in `npm test`: the thread became ready while the import ended.
test('a program that imports goes on, whenever its thread becomes ready', {
  skip: soakOnly,
}, async (t) => {
  const folder = temporaryFolder(t)
  const outputs: string[] = []
  let started = 0
  const run = async () => {
    while (started < PROGRAMS) {
      const program = started++
      const args = [IMPORTER, join(folder, `${program}.db`), String(8_000 + 500 * program)]
      const { stdout } = await promisify(execFile)(process.execPath, args)
      outputs.push(stdout)
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, run))

  assert.deepEqual(outputs, Array(PROGRAMS).fill('done\n'))
})
