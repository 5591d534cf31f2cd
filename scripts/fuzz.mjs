// Fuzzes longer than the suite does: FUZZ_SECONDS (300) from FUZZ_SEED (a random one) on. Ends with
// 1 and says how to repeat it when something was answered wrongly.
import { spawnSync } from 'node:child_process'
import { devNull } from 'node:os'

const stripsTypes = Boolean(process.features.typescript)
const { status } = spawnSync(
  process.execPath,
  [
    ...(stripsTypes ? [] : ['--import', 'tsx']),
    '--test-reporter=tap', // it says all that there is to say itself
    `--test-reporter-destination=${devNull}`,
    'test/fuzz/long.ts',
  ],
  { stdio: 'inherit' },
)
process.exit(status ?? 1)
