// Scenarios that are also tests of the suite: one row per file.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const files = [
  { name: 'a full disk, an import larger than it', file: 'test/http/faults-disk.test.ts' },
  { name: 'a start after kill -9 during an import', file: 'test/storage/abandoned.test.ts' },
  { name: 'copy, with many idempotency records', file: 'test/storage/copy.test.ts' },
  { name: 'a frozen database', file: 'test/http/readiness.test.ts' },
  { name: 'unit, image, proxies, alerts, dashboard', file: 'test/deploy.test.ts' },
]

/** `passed` is undefined if all tests of a file were skipped. */
export async function run({ log = () => {} } = {}) {
  return files.map(({ name, file }) => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const ended = spawnSync(process.execPath, ['scripts/test.mjs', file], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    })
    const count = (what) => Number(new RegExp(`^# ${what} (\\d+)`, 'm').exec(ended.stdout)?.[1])
    const detail = `${count('pass')} passed, ${count('fail')} failed, ${count('skipped')} skipped`
    if (ended.status !== 0) log(ended.stdout.slice(-4_000))
    return { name, passed: ended.status === 0 && (count('pass') > 0 || undefined), detail }
  })
}
