// Plans and applies a catalog of 100,000 items with the CLI. A second process tries to write every
// 5 ms meanwhile: its longest wait is the time for which the write lock was held.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inFolder } from './servers.mjs'
import { count, printTable } from './table.mjs'

const ITEMS = Number(process.env.BENCH_ITEMS ?? 100_000)
const CLI = 'dist/cli/main.js'

/** Prints the longest wait for the lock, once its input ends. */
const PROBE = `
  const Database = require('better-sqlite3')
  const db = new Database(process.argv[1], { timeout: 30000 })
  let longest = 0
  setInterval(() => {
    const started = performance.now()
    db.exec('BEGIN IMMEDIATE; ROLLBACK')
    longest = Math.max(longest, performance.now() - started)
  }, 5)
  process.stdin.resume().on('end', () => { console.log(longest); process.exit() })`

export async function bench() {
  await inFolder(async (folder) => {
    const db = join(folder, 'catalog.db')
    const tillkit = (...args) => {
      const { stdout } = spawnSync('node', [CLI, ...args, '--db', db, '--json'])
      return JSON.parse(stdout)
    }
    const { account_id } = tillkit('account', 'create', '--name', 'Bench')
    const game = ['--name', 'Game', '--bundle-id', 'com.example.game', '--platform', 'web']
    const { id } = tillkit('project', 'create', '--account', account_id, ...game)
    const store = ['--project', id, '--type', 'web', '--store', 'main']
    tillkit('store', 'create', '--account', account_id, ...store)
    const file = join(folder, 'catalog.json')
    const rows = []
    for (const [name, price] of Object.entries({ 'all new': 499, 'all changed': 599 })) {
      writeFileSync(file, JSON.stringify(catalogOf(id, price)))
      for (const command of ['plan', 'apply']) {
        const { seconds, mib, lock } = await measure(command, file, db)
        rows.push([`${name}: ${command}`, seconds.toFixed(1), count(mib), lock.toFixed(1)])
      }
    }
    printTable(
      `A catalog of ${count(ITEMS)} items`,
      ['', 's', 'MiB at most', 's of write lock at most'],
      rows,
    )
  })
}

function catalogOf(id, price) {
  const items = Array.from({ length: ITEMS }, (_, i) => ({
    name: `sku_${i}`,
    display_name: `Pack ${i}`,
    description: `All that is in pack ${i}, at once`,
    price: String(price),
    type: 'consumable',
    metadata: { icon: 'pack.png', stack: 99 },
  }))
  return { project: { id }, stores: [{ store_id: 'main', items }] }
}

async function measure(command, file, db) {
  const probe = spawn('node', ['-e', PROBE, db], { stdio: ['pipe', 'pipe', 'inherit'] })
  let longest = ''
  probe.stdout.on('data', (chunk) => (longest += chunk))
  const started = performance.now()
  const script = `
    process.on('exit', () => console.error(process.resourceUsage().maxRSS))
    process.argv.splice(1, 0, '')
    import(process.env.CLI)`
  const cli = spawn('node', ['-e', script, '--', 'catalog', command, file, '--db', db], {
    env: { ...process.env, CLI: join(process.cwd(), CLI) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  cli.stderr.on('data', (chunk) => (errors += chunk))
  const [code] = await once(cli, 'close')
  if (code !== 0) throw new Error(errors)
  const seconds = (performance.now() - started) / 1000
  probe.stdin.end()
  await once(probe, 'close')
  return { seconds, mib: Number(errors.trim().split('\n').at(-1)) / 1024, lock: longest / 1000 }
}
