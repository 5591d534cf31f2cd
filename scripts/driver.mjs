// Makes sure that this Node can use SQLite: `npm run driver`, with which `npm start` and `npm test`
// begin. Node 22.13 and later have a driver of their own. For an older Node, compiles better-sqlite3 in
// `scripts/driver`, where `npm ci` leaves it, and links to it. `npm ci` itself compiles nothing.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const link = join(root, 'node_modules/better-sqlite3')
const compiled = join(root, 'scripts/driver/node_modules/better-sqlite3')

const { version } = process
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  end(`tillkit needs Node 20.19 or later, and this is ${version}`)
}
if (!isBuiltin('node:sqlite') && !isUsable(link)) {
  if (!isUsable(compiled)) compile()
  mkdirSync(join(root, 'node_modules'), { recursive: true })
  rmSync(link, { recursive: true, force: true })
  symlinkSync(compiled, link, 'junction') // a junction needs no rights on Windows
}

/** Whether this Node can open a database with the package in a folder. */
function isUsable(folder) {
  try {
    const Database = createRequire(import.meta.url)(folder)
    new Database(':memory:').close()
    return true
  } catch {
    return false
  }
}

function compile() {
  const why = `Node ${version} has no SQLite of its own (22.13 and later have)`
  console.error(`${why}: compiling better-sqlite3, which takes some minutes`)
  const { status, stdout, stderr } = spawnSync('npm ci --no-audit --no-fund --loglevel=error', {
    cwd: join(root, 'scripts/driver'),
    shell: true, // npm is a script, which Windows runs only in a shell
    encoding: 'utf8',
    env: { JOBS: 'max', ...process.env },
  })
  if (status === 0) return
  console.error(`${stdout}${stderr}`.trimEnd().split('\n').slice(-20).join('\n'))
  const needs = 'it needs the network, Python and a C++ compiler (apt install python3 g++ make)'
  end(`better-sqlite3 could not be installed: ${needs}. Or use Node 22.13 or later`)
}

function end(message) {
  console.error(message)
  process.exit(1)
}
