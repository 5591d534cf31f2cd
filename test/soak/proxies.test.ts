// Puts servers behind each proxy of `deploy/`. A proxy that is not installed is skipped.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
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

const SECONDS = Number(process.env.TILLKIT_TEST_SECONDS ?? 15)
const CLIENTS = 40

interface Proxy {
  readonly name: string
  readonly version: string
  readonly file: string
  /** The file of `deploy/` without TLS and with a local address. */
  readonly adapt: (text: string, port: number, folder: string) => string
  readonly args: readonly string[]
}

const caddy: Proxy = {
  name: 'caddy',
  version: 'version',
  file: 'Caddyfile',
  adapt: (text, port) =>
    `{\n\tadmin off\n\tauto_https off\n}\n${text.replace(/^shop\.example/m, `:${port}`)}`,
  args: ['run', '--adapter', 'caddyfile', '--config'],
}

const proxies: readonly Proxy[] = [
  {
    name: 'nginx',
    version: '-v',
    file: 'nginx.conf',
    adapt(text, port, folder) {
      const http = text.replace('listen 443 ssl http2', `listen 127.0.0.1:${port}`)
      const plain = http.replaceAll(/^\s*ssl_.*$/gm, '')
      const own = `pid ${folder}/pid; error_log ${folder}/log; daemon off;`
      return `${own} events {} http { access_log off; ${plain} }`
    },
    args: ['-c'],
  },
  {
    name: 'haproxy',
    version: '-v',
    file: 'haproxy.cfg',
    adapt: (text, port) => text.replace(/bind :443.*$/m, `bind 127.0.0.1:${port}`),
    args: ['-db', '-q', '-f'],
  },
  caddy,
]

function reasonToSkip({ name, version }: Proxy): string | false {
  return spawnSync(name, [version]).status !== 0 && `${name} is not installed`
}

/** Starts a proxy with the configuration `text`, and returns its URL. */
async function startProxy(t: TestContext, proxy: Proxy, text: string): Promise<string> {
  const folder = temporaryFolder(t)
  const port = await freePort()
  const config = join(folder, proxy.file)
  writeFileSync(config, proxy.adapt(text, port, folder))
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(proxy.name, [...proxy.args, config], { env, stdio: 'ignore' })
  t.after(() => child.kill('SIGTERM'))
  await eventuallyHolds(async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.destroy()
  })
  return `http://127.0.0.1:${port}`
}

describe('servers behind a proxy', { concurrency: true, skip: soakOnly }, () => {
  for (const proxy of proxies) {
    test(`behind ${proxy.name}, restarts fail no request, also on connections that were idle`, {
      skip: reasonToSkip(proxy),
    }, async (t) => {
      const { db, account_key } = await createShopFile(t)
      const ports = [await freePort(), await freePort()]
      const serve = async (port: number) => {
        const args = ['--trust-proxy', '--log', 'off', '--drain-delay', '5']
        return serveProcess(t, ['--db', db, '--port', String(port), ...args])
      }
      const servers = await Promise.all(ports.map(serve))
      const text = readFileSync(`deploy/${proxy.file}`, 'utf8')
        .replaceAll('till-1:3000', `127.0.0.1:${ports[0]}`)
        .replaceAll('till-2:3000', `127.0.0.1:${ports[1]}`)
      const url = await startProxy(t, proxy, text)
      await setTimeout(3_000) // Caddy and HAProxy ask for /readyz first

      const load = startLoad(url, account_key)
      for (const [index, { child, closed }] of servers.entries()) {
        await setTimeout((SECONDS * 1_000) / 3)
        child.kill('SIGTERM')
        await closed
        await serve(ports[index] ?? 0)
      }
      await setTimeout((SECONDS * 1_000) / 3)
      const { sent, failures } = await load.stop()

      assert.deepEqual(failures.slice(0, 10), [])
      assert.ok(sent > CLIENTS, `${sent} requests`)
    })
  }

  // Caddy forwards the body without waiting for 100 Continue. It closes the client's connection while
  // the body arrives, so a few clients lose their answer: Go's server waits before it closes such
  // connections, but not for requests with this header.
  test('refused uploads with Expect: 100-continue are 401 through Caddy, never 502', {
    skip: reasonToSkip(caddy),
  }, async (t) => {
    const args = ['--db', 'memory:', '--port', '0', '--log', 'off', '--trust-proxy']
    const { url } = await serveProcess(t, args)
    const { host } = new URL(url)
    const proxied = await startProxy(t, caddy, `shop.example {\n\treverse_proxy ${host}\n}\n`)
    const body = Buffer.alloc(3_000_000, 'x')
    const results: (number | string)[] = []
    for (let round = 0; round < 3; round++) {
      const uploads = Array.from({ length: CLIENTS }, () => upload(proxied, body))
      results.push(...(await Promise.all(uploads)))
    }

    const statuses = results.filter((each) => typeof each === 'number')
    assert.deepEqual([...new Set(statuses)], [401])
    assert.ok(statuses.length >= 0.8 * results.length, results.join(' '))
  })
})

/** Creates items from many clients, each on its own connection with idle times. */
function startLoad(url: string, account_key: string) {
  const failures: string[] = []
  let isStopped = false
  let sent = 0
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const headers = { 'x-account-key': account_key, host: 'shop.example' }
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

/** The status of the answer, or the code of the error. */
function upload(url: string, body: Buffer): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = {
      authorization: 'Bearer x',
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': body.length,
      expect: '100-continue',
    }
    const fail = ({ code = 'error' }: NodeJS.ErrnoException) => resolve(code)
    const options = { method: 'POST', headers, agent: new Agent(), timeout: 20_000 }
    const sent = request(`${url}/api/v1/purchases/import`, options, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
      answer.on('error', fail)
    })
    sent.on('continue', () => sent.end(body))
    sent.on('timeout', () => sent.destroy())
    sent.on('error', fail)
    sent.flushHeaders()
  })
}
