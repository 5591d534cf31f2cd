// Empties dist and compiles into it, so that a renamed file leaves no stale twin in the package.
import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
const tsc = 'node_modules/typescript/bin/tsc'
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)
chmodSync('dist/cli/main.js', 0o755)
