// Installs the packages of `test/package.json`, unless those of the same lock file are installed.
// They are no workspace, because `npm ci` would then install them before every `npm start`.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const lock = readFileSync('test/package-lock.json', 'utf8')
const installed = 'test/node_modules/.installed-lock.json'

if (!existsSync(installed) || readFileSync(installed, 'utf8') !== lock) {
  const { status } = spawnSync('npm ci --no-audit --no-fund', {
    cwd: 'test',
    shell: true, // npm is a script, which Windows runs only in a shell
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(1)
  writeFileSync(installed, lock)
}
