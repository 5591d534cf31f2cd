// Fuzzes with new input: runs the tests with generated input, then fuzzes for FUZZ_SECONDS (300).
// FUZZ_SEED sets the seed, which is random by default; `npm test` has a fixed one. When an answer
// is wrong, exits with 1 and prints how to repeat the run.
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { compile } from './compile.mjs'

const { FUZZ_SEED = String(randomInt(2 ** 31)) } = process.env
const env = { ...process.env, FUZZ_SEED }
const run = (args) => spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1

const generating = readdirSync('test', { recursive: true })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .filter((file) => /support\/(seeds|random)\.ts/.test(readFileSync(file, 'utf8')))
if (run(['scripts/test.mjs', ...generating]) !== 0) {
  console.error(`\nTo repeat: FUZZ_SEED=${FUZZ_SEED} FUZZ_SECONDS=0 npm run fuzz\n`)
  process.exit(1)
}
const silent = ['--test-reporter=tap', `--test-reporter-destination=${devNull}`] // reports itself
process.exit(run([...silent, join(await compile(), 'test/fuzz/long.js')]))
