// Time from start to the first answer, idle memory, and size of the package.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { fastifyPeer, startReplay } from './load.mjs'
import { call, inFolder, seed, startTillkit } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const ROUNDS = 10
const REQUESTS = 100

export async function bench() {
  await inFolder(async (folder) => {
    const db = join(folder, 'small.db')
    const { items, token } = await seed(db)
    const read = {
      path: `/api/v1/items/${items[0]}`,
      headers: { authorization: `Bearer ${token}` },
    }
    const health = { path: '/healthz' }
    const bare = () => startReplay(folder, { headers: {}, text: '{}' })
    await compareServers({
      tillkit: { start: () => startTillkit(db), first: health, read },
      Fastify: { start: () => fastifyPeer(db), first: read, read },
      'bare node:http': { start: bare, first: health, read },
    })
  })
  weighPackage()
}

async function compareServers(servers) {
  const node = []
  const trials = Object.fromEntries(Object.keys(servers).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now()
    await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'close')
    node.push(performance.now() - started)
    for (const [name, server] of Object.entries(servers)) trials[name].push(await tryOut(server))
  }
  const of = (name, figure) => median(trials[name].map((trial) => trial[figure]))
  const rows = Object.keys(servers).map((name) => [
    name,
    Math.round(of(name, 'ms')),
    ratio(of(name, 'ms') / median(node)),
    of(name, 'rest').toFixed(1),
    of(name, 'used').toFixed(1),
    ratio(of(name, 'used') / of('bare node:http', 'used')),
  ])
  printTable(
    `Start to first answer, and resident memory: medians of ${ROUNDS} interleaved rounds`,
    ['', 'ms', 'of node -e 0', 'MiB at rest', `after ${REQUESTS} reads`, 'of bare node:http'],
    [['node -e 0', Math.round(median(node)), '1.00', '', '', ''], ...rows],
  )
}

async function tryOut({ start, first, read }) {
  const started = performance.now()
  const server = await start()
  await call(server.url, first)
  const ms = performance.now() - started
  const rest = server.memory('VmRSS')
  for (let i = 0; i < REQUESTS; i++) await call(server.url, read)
  const used = server.memory('VmRSS')
  await server.stop()
  return { ms, rest, used }
}

function weighPackage() {
  const { status, stdout } = spawnSync('npm', ['pack', '--ignore-scripts', '--dry-run', '--json'], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error('npm pack failed')
  const [{ size, unpackedSize, files }] = JSON.parse(stdout)
  const top = new Set(files.map(({ path }) => path.split('/')[0]))
  printTable(
    'The package, without dependencies',
    ['files', 'KiB packed', 'KiB unpacked', 'holds'],
    [[files.length, count(size / 1024), count(unpackedSize / 1024), [...top].join(' ')]],
  )
  const client = readFileSync('dist/client/index.js')
  const kib = (bytes) => (bytes.length / 1024).toFixed(1)
  printTable(
    'tillkit/client, one file',
    ['KiB', 'KiB gzipped'],
    [[kib(client), kib(gzipSync(client))]],
  )
}
