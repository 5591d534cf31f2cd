// Checks the cost of hostile input: `npm run hostile`, or `npm run hostile -- CSV` for rows whose
// name contains a word. Needs the built `dist`, and Linux for its /proc.
import { spawnSync } from 'node:child_process'

const stripsTypes = Boolean(process.features.typescript)
const { status } = spawnSync(
  process.execPath,
  [...(stripsTypes ? [] : ['--import', 'tsx']), 'test/hostile/run.ts', ...process.argv.slice(2)],
  { stdio: 'inherit' },
)
process.exit(status ?? 1)
