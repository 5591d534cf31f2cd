// Puts servers behind each proxy of `deploy/`, with TLS. Only ports, paths and the addresses of the
// servers differ from the shipped files. A proxy that is not installed is skipped.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { serveProcess } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ask, itemNamed } from '../support/load.ts'
import { freePort } from '../support/port.ts'
import { createShopFile } from '../support/served.ts'
import { soakOnly } from '../support/soak.ts'
import { TLS_CERTIFICATE, TLS_KEY } from '../support/tls.ts'

const SECONDS = Number(process.env.TILLKIT_TEST_SECONDS ?? 15)
const CLIENTS = 40

interface Proxy {
  readonly name: string
  readonly version: string
  readonly file: string
  /** The file of `deploy/` with a local port and local paths. */
  readonly adapt: (text: string, port: number, folder: string) => string
  readonly args: readonly string[]
  /** Whether it logs requests on its standard streams. */
  readonly logs?: boolean
}

const caddy: Proxy = {
  name: 'caddy',
  version: 'version',
  file: 'Caddyfile',
  // An authority of its own signs the certificate.
  adapt: (text, port) => `{
    admin off
    local_certs
    skip_install_trust
    auto_https disable_redirects
    https_port ${port}
  }\n${text}`,
  args: ['run', '--adapter', 'caddyfile', '--config'],
  logs: true,
}

const haproxy: Proxy = {
  name: 'haproxy',
  version: '-v',
  file: 'haproxy.cfg',
  adapt: (text, port, folder) => withCertificate(text, folder).replace(':443', `127.0.0.1:${port}`),
  args: ['-db', '-f'],
  logs: true,
}

const proxies: readonly Proxy[] = [
  {
    name: 'nginx',
    version: '-v',
    file: 'nginx.conf',
    adapt(text, port, folder) {
      const local = withCertificate(text, folder).replace('443', `127.0.0.1:${port}`)
      const own = `pid ${folder}/pid; error_log ${folder}/log; daemon off;`
      return `${own} events {} http { access_log off; ${local} }`
    },
    args: ['-c'],
  },
  haproxy,
  caddy,
]

/** Replaces the paths of the certificate and its key by those of a file that has both. */
function withCertificate(text: string, folder: string): string {
  const file = join(folder, 'both.pem')
  writeFileSync(file, `${TLS_CERTIFICATE}\n${TLS_KEY}\n`)
  return text.replaceAll(/\/etc\/ssl\/shop\.example\.(pem|key)/g, file)
}

function reasonToSkip({ name, version }: Proxy): string | false {
  return spawnSync(name, [version]).status !== 0 && `${name} is not installed`
}

/** Starts a proxy in front of two servers, and returns its URL and its log. */
async function startProxy(t: TestContext, proxy: Proxy, servers: readonly number[]) {
  const folder = temporaryFolder(t)
  const port = await freePort()
  const text = readFileSync(`deploy/${proxy.file}`, 'utf8')
    .replaceAll('till-1:3000', `127.0.0.1:${servers[0]}`)
    .replaceAll('till-2:3000', `127.0.0.1:${servers[1]}`)
  const config = join(folder, proxy.file)
  writeFileSync(config, proxy.adapt(text, port, folder))
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(proxy.name, [...proxy.args, config], { env })
  t.after(() => child.kill('SIGTERM'))
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (log += chunk))
  await eventuallyHolds(async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.destroy()
  })
  await setTimeout(3_000) // Caddy and HAProxy ask for /readyz first
  return { url: `https://127.0.0.1:${port}`, log: () => log }
}

/** Starts two servers with a shop in one file, and a proxy in front of them. */
async function startAll(t: TestContext, proxy: Proxy) {
  const { db, account_key } = await createShopFile(t)
  const ports = [await freePort(), await freePort()]
  const serve = async (port = 0) => {
    const args = ['--trust-proxy', '--log', 'off', '--drain-delay', '5', '--manage']
    return serveProcess(t, ['--db', db, '--port', String(port), ...args])
  }
  const servers = await Promise.all(ports.map(serve))
  const proxied = await startProxy(t, proxy, ports)
  const headers = { 'x-account-key': account_key, host: 'shop.example' }
  const agent = clientAgent()
  t.after(() => agent.destroy())
  const create = (name: string) =>
    ask(agent, `${proxied.url}/api/v1/items`, headers, itemNamed(name))
  return { ...proxied, db, ports, servers, serve, headers, create }
}

/** Keeps one connection, and accepts any certificate. */
function clientAgent(): Agent {
  const tls = { rejectUnauthorized: false, servername: 'shop.example' }
  return new Agent({ keepAlive: true, maxSockets: 1, ...tls })
}

describe('servers behind a proxy', { concurrency: true, skip: soakOnly }, () => {
  for (const proxy of proxies) {
    test(`behind ${proxy.name}`, { skip: reasonToSkip(proxy) }, async (t) => {
      const { url, db, log, ports, servers, serve, headers, create } = await startAll(t, proxy)

      await t.test('only the network of your own servers reaches the management API', async () => {
        const { adapt } = proxy
        const inside = await startProxy(
          t,
          {
            ...proxy,
            adapt: (text, ...more) => adapt(text.replaceAll('10.0.0.0', '127.0.0.0'), ...more),
          },
          ports,
        )
        const agent = clientAgent()
        const ask = (base: string, path: string) => get(agent, base + path, headers)
        for (const path of [
          '/manage/v1/account',
          '/api/../manage/v1/account',
          '/%6danage/v1/account',
        ]) {
          assert.ok([403, 404].includes(await ask(url, path)), path)
        }
        assert.equal(await ask(inside.url, '/manage/v1/account'), 200)
        assert.equal(await ask(inside.url, '/metrics'), 404)
        agent.destroy()
      })

      await t.test('restarts fail no request, also on connections that were idle', async () => {
        const load = startLoad(url, headers)
        for (const [index, { child, closed }] of servers.entries()) {
          await setTimeout((SECONDS * 1_000) / 3)
          child.kill('SIGTERM')
          await closed
          await serve(ports[index])
        }
        await setTimeout((SECONDS * 1_000) / 3)
        const { sent, failures } = await load.stop()

        assert.deepEqual(failures.slice(0, 10), [])
        assert.ok(sent > CLIENTS, `${sent} requests`)
        if (proxy.logs) assert.match(log(), /\/api\/v1\/items/)
      })

      await t.test('a lost database is a problem document with Retry-After', async () => {
        renameSync(db, `${db}.away`) // each server now answers /readyz with 503
        await setTimeout(4_000) // the proxy has noticed it
        const { status, headers, text } = await create('meanwhile')
        renameSync(`${db}.away`, db)

        assert.equal(status, 503, text)
        assert.equal(headers['content-type'], 'application/problem+json')
        assert.match(headers['retry-after'] ?? '', /^\d+$/)
        const problem = JSON.parse(text)
        assert.deepEqual([problem.status, problem.code], [503, 'storage_unavailable'])
        await eventuallyHolds(async () => assert.equal((await create('after')).status, 200))
      })
    })
  }

  test('HAProxy ends the requests of a server that no longer answers', {
    skip: reasonToSkip(haproxy),
  }, async (t) => {
    const { servers, create } = await startAll(t, haproxy)
    servers[0]?.child.kill('SIGSTOP')

    const answers = Array.from({ length: 4 }, (_, n) => create(`item_${n}`))
    await Promise.all(answers) // rejects after 30 s of silence
  })
})

/** The status of a GET. The path is sent as it is. */
async function get(agent: Agent, url: string, headers: Record<string, string>): Promise<number> {
  const { origin } = new URL(url)
  const sent = request(origin, { agent, headers, path: url.slice(origin.length) }).end()
  const [answer] = await once(sent, 'response')
  answer.resume()
  return answer.statusCode
}

/** Creates items from many clients, each on its own connection with idle times. */
function startLoad(url: string, headers: Record<string, string>) {
  const failures: string[] = []
  let isStopped = false
  let sent = 0
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const agent = clientAgent()
    for (let n = 0; !isStopped; n++) {
      const item = itemNamed(`item_${client}_${n}`)
      const status = await ask(agent, `${url}/api/v1/items`, headers, item).then(
        ({ status }) => status,
        (error: unknown) => error,
      )
      sent++
      if (status !== 200) failures.push(`${item.name}: ${status}`)
      // About 6 s: a server that closes idle connections at 5 s would lose a request here.
      await setTimeout(n % 3 === 0 ? 5_900 + Math.random() * 200 : 20)
    }
    agent.destroy()
  })
  return {
    async stop() {
      isStopped = true
      await Promise.all(clients)
      return { sent, failures }
    },
  }
}
