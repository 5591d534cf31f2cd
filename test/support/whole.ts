// Fails a test file that takes too long, and says in which test; one whose process ends before its
// last test; and one that something keeps alive after it. scripts/compile.mjs adds it to each.
import { after, beforeEach } from 'node:test'

/** More than the time in which postgres.js gives up to connect: its timer goes on for so long. */
const END_MS = 90_000

let running = 'before the first test'
let isWhole = false
beforeEach(({ name }) => {
  running = `in "${name}"`
})
const limit = setTimeout(
  () => fail(`took too long: it was ${running}`),
  Number(process.env.TILLKIT_TEST_FILE_MS ?? 2 ** 31 - 1),
).unref()
after(() => {
  isWhole = true
  clearTimeout(limit)
  setTimeout(() => fail(`goes on after its last test: it left ${open()} open`), END_MS).unref()
})
process.once('exit', () => {
  if (isWhole) return
  process.stderr.write(`This file ended before its last test: it was ${running}\n`)
  process.exitCode = 1
})

function fail(reason: string): void {
  isWhole = true
  process.stderr.write(`This file ${reason}\n`)
  process.exit(1)
}

const open = () => process.getActiveResourcesInfo().join(', ')
