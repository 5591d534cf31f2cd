// Runs the suite, or the files named: `node scripts/test.mjs test/http/items.test.ts`.
// Files are listed here because `node --test` takes globs only from Node 21 on.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

const named = process.argv.slice(2)
const found = readdirSync('test', { recursive: true })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .sort()
const stripsTypes = Boolean(process.features.typescript)
const { status } = spawnSync(
  process.execPath,
  [
    ...(stripsTypes ? [] : ['--import', 'tsx']),
    '--test',
    '--test-timeout=300000',
    ...(named.length ? named : found),
  ],
  { stdio: 'inherit' },
)
process.exit(status ?? 1)
