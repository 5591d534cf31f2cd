// Sends uploads with `Expect: 100-continue` and a bad token through Caddy. Caddy forwards the body
// without waiting for 100 Continue. Each answer must still be 401, and no 502. Caddy closes the
// client's connection while the body arrives, so a few clients lose their answer: Go's server waits
// before it closes such connections, but not for requests with this header.
//
//   npm run --silent build && node scripts/scenarios/expect.mjs
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from './port.mjs'

const pathOf = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

const CLIENTS = 40
const ROUNDS = 3
const BODY = Buffer.alloc(3_000_000, 'x')
const MIN_ANSWERED = 0.8
const PATIENCE_MS = 20_000

/** One row per check; `passed` is undefined for a skipped one. */
export async function run() {
  const name = `Caddy: ${ROUNDS * CLIENTS} refused uploads with Expect: 100-continue`
  if (spawnSync('caddy', ['version']).status !== 0) {
    return [{ name, passed: undefined, detail: 'caddy is not installed' }]
  }
  const folder = mkdtempSync(join(tmpdir(), 'tillkit-expect-'))
  const ends = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const server = await startServer(ends)
    const port = await startCaddy(folder, server, ends)
    const statuses = []
    for (let round = 0; round < ROUNDS; round++) {
      statuses.push(...(await Promise.all(Array.from({ length: CLIENTS }, () => upload(port)))))
    }
    const counts = {}
    for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
    const detail = Object.entries(counts).map(([status, count]) => `${count} got ${status}`)
    const answers = statuses.filter((status) => typeof status === 'number')
    const isRefused = answers.every((status) => status === 401)
    const passed = isRefused && answers.length >= MIN_ANSWERED * statuses.length
    return [{ name, passed, detail: detail.join(', ') }]
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function startServer(ends) {
  const args = ['serve', '--db', 'memory:', '--port', '0', '--log', 'off', '--trust-proxy']
  const stdio = ['ignore', 'pipe', 'ignore']
  const child = spawn(process.execPath, [pathOf('dist/cli/main.js'), ...args], { stdio })
  ends.push(() => end(child))
  const [line] = await once(child.stdout, 'data')
  return /127\.0\.0\.1:\d+/.exec(String(line))[0]
}

async function startCaddy(folder, server, ends) {
  const port = await freePort()
  const config = join(folder, 'Caddyfile')
  const site = `http://127.0.0.1:${port} {\n\treverse_proxy ${server}\n}\n`
  writeFileSync(config, `{\n\tadmin off\n\tauto_https off\n}\n${site}`)
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const args = ['run', '--adapter', 'caddyfile', '--config', config]
  const child = spawn('caddy', args, { env, stdio: 'ignore' })
  ends.push(() => end(child))
  for (let i = 0; i < 100; i++) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
    if (answer?.status === 200) return port
    await setTimeout(100)
  }
  throw new Error('Caddy does not answer')
}

/** The status of the answer, or the code of the error. */
function upload(port) {
  return new Promise((resolve) => {
    const headers = {
      authorization: 'Bearer x',
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': BODY.length,
      expect: '100-continue',
    }
    const path = '/api/v1/purchases/import'
    const agent = new Agent()
    const options = { host: '127.0.0.1', port, method: 'POST', path, headers, agent }
    const sent = request({ ...options, timeout: PATIENCE_MS }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode))
      answer.on('error', ({ code }) => resolve(code))
    })
    sent.on('continue', () => sent.end(BODY))
    sent.on('timeout', () => sent.destroy())
    sent.on('error', ({ code }) => resolve(code))
    sent.flushHeaders()
  })
}

async function end(child) {
  if (child.exitCode !== null) return
  child.kill()
  await once(child, 'exit')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await run()
  for (const { name, passed, detail } of rows) {
    const outcome = { true: 'passed', false: 'FAILED' }[passed] ?? 'skipped'
    console.log(`${outcome}: ${name}: ${detail}`)
  }
  process.exitCode = rows.some(({ passed }) => passed === false) ? 1 : 0
}
