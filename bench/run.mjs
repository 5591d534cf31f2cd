// npm run bench [subject …]: runs these subjects, or all, and prints a table for each.
import '../scripts/driver.mjs'
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout } from 'node:timers/promises'

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
console.log(machine)
for (const subject of named.length > 0 ? named : subjects) {
  await warnOfLoad()
  const { bench } = await import(`./${subject}.mjs`)
  await bench()
}

/** Says so when other processes are busy: the figures are then too low, and only ratios count. */
async function warnOfLoad() {
  const before = processorTimes()
  await setTimeout(1_000)
  const after = processorTimes()
  const busy = (after.busy - before.busy) / (after.total - before.total)
  if (busy < 0.1) return
  console.log(`\nThe machine is not quiet: other work takes ${Math.round(busy * 100)} % of it`)
}

function processorTimes() {
  const times = cpus().flatMap(({ times }) => Object.entries(times))
  const sum = (entries) => entries.reduce((total, [, time]) => total + time, 0)
  return { total: sum(times), busy: sum(times.filter(([kind]) => kind !== 'idle')) }
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
