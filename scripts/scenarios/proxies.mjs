// Puts two servers behind each proxy of `deploy/`. Clients create items over connections that are
// idle for about 6 s in between, while each server is restarted once. Every request must be
// answered with 200.
//
//   npm run --silent build && npm run scenarios -- 30
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from './port.mjs'

const CLIENTS = 40

/** How to start each proxy with its file of `deploy/`, without TLS and with local addresses. */
const proxies = [
  {
    name: 'nginx',
    version: '-v',
    file: 'nginx.conf',
    adapt: (text, port, folder) => {
      const http = text.replace('listen 443 ssl http2', `listen 127.0.0.1:${port}`)
      const plain = http.replaceAll(/^\s*ssl_.*$/gm, '')
      const own = `pid ${folder}/pid; error_log ${folder}/log; daemon off;`
      return `${own} events {} http { access_log off; ${plain} }`
    },
    args: (file) => ['-c', file],
  },
  {
    name: 'haproxy',
    version: '-v',
    file: 'haproxy.cfg',
    adapt: (text, port) => text.replace(/bind :443.*$/m, `bind 127.0.0.1:${port}`),
    args: (file) => ['-db', '-q', '-f', file],
  },
  {
    name: 'caddy',
    version: 'version',
    file: 'Caddyfile',
    adapt: (text, port) =>
      `{\n\tadmin off\n\tauto_https off\n}\n${text.replace(/^shop\.example/m, `:${port}`)}`,
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
]

/** One row per check; `passed` is undefined for a skipped one. */
export async function run({ seconds = 30, log = () => {} } = {}) {
  const rows = []
  for (const proxy of proxies) rows.push(await runProxy(proxy, seconds, log))
  return rows
}

async function runProxy({ name, version, file, adapt, args }, seconds, log) {
  if (spawnSync(name, [version]).status !== 0) {
    return { name, passed: undefined, detail: `${name} is not installed` }
  }
  const folder = mkdtempSync(join(tmpdir(), 'tillkit-proxies-'))
  const db = join(folder, 'till.db')
  const ports = [await freePort(), await freePort(), await freePort()]
  const servers = []
  let proxy
  try {
    const demo = await startServer(db, ports[0], ['--demo', '--json'])
    servers.push(demo, await startServer(db, ports[1]))
    const { account_key } = JSON.parse(demo.first).demo
    const local = readFileSync(pathOf(`deploy/${file}`), 'utf8')
      .replaceAll('till-1:3000', `127.0.0.1:${ports[0]}`)
      .replaceAll('till-2:3000', `127.0.0.1:${ports[1]}`)
    const config = join(folder, file)
    writeFileSync(config, adapt(local, ports[2], folder))
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    proxy = spawn(name, args(config), { env, stdio: 'ignore' })
    await listening(name, ports[2])
    await setTimeout(3_000) // Caddy and HAProxy ask for /readyz first
    const load = startLoad(`http://127.0.0.1:${ports[2]}`, account_key, log)
    for (const index of [0, 1]) {
      await setTimeout((seconds * 1_000) / 3)
      await stopServer(servers[index])
      servers[index] = await startServer(db, ports[index])
    }
    await setTimeout((seconds * 1_000) / 3)
    const { sent, failed } = await load.stop()
    const detail = `${sent} creates, ${failed} failed, two restarts, ${seconds} s`
    return { name, passed: failed === 0 && sent > CLIENTS, detail }
  } finally {
    proxy?.kill('SIGTERM')
    for (const server of servers) await stopServer(server)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Creates items from many clients, each on its own connection with idle times. */
function startLoad(url, account_key, log) {
  let isStopped = false
  let sent = 0
  let failed = 0
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let n = 0; !isStopped; n++) {
      const name = `item_${client}_${n}`
      const body = { store_id: 'demo', name, display_name: name, price: '1', type: 'consumable' }
      const status = await post(agent, `${url}/api/v1/items`, account_key, JSON.stringify(body))
      sent++
      if (status !== 200) {
        failed++
        log(`${name}: ${status}`)
      }
      // About 6 s: a server that closes idle connections at 5 s would lose a request here.
      await setTimeout(n % 3 === 0 ? 5_900 + Math.random() * 200 : 20)
    }
    agent.destroy()
  })
  return {
    async stop() {
      isStopped = true
      await Promise.all(clients)
      return { sent, failed }
    },
  }
}

function post(agent, url, account_key, body) {
  const headers = {
    'x-account-key': account_key,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    host: 'shop.example',
  }
  return new Promise((resolve) => {
    const sent = request(url, { agent, method: 'POST', headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    sent.setTimeout(20_000, () => sent.destroy(new Error('no answer within 20 s')))
    sent.once('error', (error) => resolve(error.message)).end(body)
  })
}

async function startServer(db, port, more = []) {
  const args = ['serve', '--db', db, '--port', String(port), '--trust-proxy', '--log', 'off']
  const all = [pathOf('dist/cli/main.js'), ...args, '--drain-delay', '5', ...more]
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'ignore'] })
  const [first] = await once(child.stdout, 'data')
  return { child, first: String(first) }
}

async function stopServer({ child }) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function listening(name, port) {
  for (let tries = 0; tries < 100; tries++) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await setTimeout(100)
  }
  throw new Error(`${name} does not listen`)
}

function pathOf(path) {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url))
}
