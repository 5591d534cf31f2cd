// Fails a test file whose process ends before its last test. scripts/compile.mjs adds it to each.
import { after } from 'node:test'

let isWhole = false
after(() => {
  isWhole = true
})
process.once('exit', () => {
  if (isWhole) return
  process.stderr.write('This file ended before its last test.\n')
  process.exitCode = 1
})
