// npm run bench [subject …]: runs these subjects, or all, and prints a table for each.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'

const subjects = [
  'read',
  'list',
  'create',
  'init',
  'token',
  'growth',
  'workers',
  'small',
  'csv',
  'import',
  'catalog',
  'space',
  'summary',
  'webhooks',
  'postgres',
  'postgres-import',
]
const named = process.argv.slice(2)
const unknown = named.filter((name) => !subjects.includes(name))
if (unknown.length > 0) {
  console.error(`Unknown subject ${unknown.join(', ')}: choose from ${subjects.join(', ')}`)
  process.exit(2)
}

run('npm', ['run', '--silent', 'build'])
if (!isInstalled()) run('npm', ['ci', '--prefix', 'bench'])
const machine = `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`
console.log(`${machine}, load at the start ${loadavg()[0].toFixed(1)}`)
for (const subject of named.length > 0 ? named : subjects) {
  const { bench } = await import(`./${subject}.mjs`)
  await bench()
}

// npm writes node_modules/.package-lock.json at each installation.
function isInstalled() {
  const [installed, wanted] = ['node_modules/.package-lock.json', 'package-lock.json'].map((file) =>
    statSync(`bench/${file}`, { throwIfNoEntry: false }),
  )
  return installed?.mtimeMs >= wanted.mtimeMs
}

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}
