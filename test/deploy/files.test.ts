import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { parseArguments } from '../../cli/arguments.ts'
import { serve } from '../../cli/commands/serve.ts'
import { VARIABLES } from '../../cli/config.ts'
import { openSqliteStorage } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { childrenOf, createShopFile } from '../support/served.ts'
import { createClock, createShop } from '../support/till.ts'

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8')
const packageJson = JSON.parse(readFileSync('package.json', 'utf8'))
/** The path of the program in a folder into which npm has installed the package. */
const installed = `node_modules/${packageJson.name}/${packageJson.bin.tillkit}`

/** Fails unless `serve` accepts the arguments. */
function assertServes([name, ...args]: readonly string[]): void {
  assert.equal(name, 'serve')
  parseArguments(serve, args, {})
}

/** Without metrics, the alert TillkitDown would page for a healthy server. */
function assertMonitored(args: readonly string[]): void {
  assertServes(args)
  for (const option of ['--metrics', '--rate-limit-address']) {
    assert.ok(
      args.some((each) => each.startsWith(option)),
      option,
    )
  }
}

function assertKnown(variables: readonly string[]): void {
  const own = variables.filter((name) => name.startsWith('TILLKIT_'))
  assert.ok(own.includes('TILLKIT_DB'))
  for (const name of own) assert.ok(name in VARIABLES, `nothing reads ${name}`)
}

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: { readonly [name: string]: string }
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly depends_on?: unknown
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly restart: string
}

const compose = parse(read('compose.yaml'), { merge: true })
const services: [string, Service][] = Object.entries(compose.services)
const servers = services.filter(([, { image }]) => image.startsWith('tillkit:'))

test('the compose file starts serve with valid options and has health checks', () => {
  for (const [name, { image, healthcheck, restart }] of services) {
    // The image of tillkit has its own health check.
    if (!image.startsWith('tillkit:')) assert.equal(healthcheck?.test[0], 'CMD', name)
    assert.equal(restart, 'unless-stopped', name)
  }
  assert.equal(servers.length, 2)
  for (const [, { command = [], environment = {}, depends_on }] of servers) {
    assertMonitored(command)
    assertKnown(Object.keys(environment))
    assert.equal(environment.TILLKIT_DB, 'postgres://till@postgres/till')
    assert.match(environment.PGPASSWORD ?? '', /^\$\{POSTGRES_PASSWORD:/)
    assert.deepEqual(depends_on, { postgres: { condition: 'service_healthy' } })
  }
  assert.deepEqual(compose.services.proxy.ports, ['80:80', '443:443'])
  const named = services.flatMap(([, { volumes = [] }]) =>
    volumes.map((each) => each.split(':')[0]),
  )
  assert.deepEqual(
    named.filter((name) => /^\w/.test(name ?? '')).sort(),
    Object.keys(compose.volumes).sort(),
  )
})

test('the proxy checks the readiness of every server in the compose file', () => {
  const proxy = read('Caddyfile')
  const upstreams = servers.map(([name]) => `${name}:3000`)
  assert.ok(proxy.includes(`reverse_proxy ${upstreams.join(' ')} {`))
  assert.match(proxy, /health_uri \/readyz/)
  assert.equal(proxy.split('{').length, proxy.split('}').length)
})

test('every image has an exact version, and the project’s own image the version of the package', () => {
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image)
  const images = [...bases, ...services.map(([, { image }]) => image)]
  assert.equal(images.length, 5)
  for (const image of images) {
    // PostgreSQL versions have two numbers, all others three.
    assert.match(
      image,
      /^(postgres:\d+\.\d+|[a-z]+:\d+\.\d+\.\d+)(-[a-z]+)*(@sha256:[\da-f]{64})?$/,
    )
  }
  const own = images.filter((image) => image.startsWith('tillkit:'))
  assert.deepEqual(own, [`tillkit:${packageJson.version}`, `tillkit:${packageJson.version}`])
})

test('pgbouncer tries again soon after a failed login, so a restart of PostgreSQL is short', () => {
  assert.match(read('pgbouncer.ini'), /^server_login_retry = 1$/m)
})

test('pgbouncer drops exactly the timeouts that its file says to set in the database', () => {
  const text = read('pgbouncer.ini')
  const set = [...text.matchAll(/ALTER ROLE till SET (\w+) = '(\d+)s'/g)]
  const [, dropped = ''] = /^ignore_startup_parameters = (.*)$/m.exec(text) ?? []
  assert.deepEqual(set.map(([, name]) => name).sort(), dropped.split(',').sort())
  const { idle_in_transaction_session_timeout: idle } = Object.fromEntries(
    set.map(([, name, seconds]) => [name, Number(seconds)]),
  )
  assert.equal(idle, 8)
})

test('every driver is installed in the version that the tests use', () => {
  const [own, sqlite] = ['package-lock.json', 'scripts/driver/package-lock.json'].map(
    (file) => JSON.parse(readFileSync(file, 'utf8')).packages,
  )
  const packages = { ...sqlite, ...own }
  for (const name of ['Dockerfile', 'tillkit.service']) {
    const installed = [...read(name).matchAll(/ (postgres|better-sqlite3)(@\S+)?(?=\s)/g)]
    assert.ok(installed.length > 0, name)
    for (const [, driver, version] of installed) {
      assert.equal(version, `@${packages[`node_modules/${driver}`].version}`, name)
    }
  }
})

test('the unit starts serve, and its settings are ones that tillkit reads', () => {
  const text = read('tillkit.service')
  assert.deepEqual(text.match(/^\[\w+\]$/gm), ['[Unit]', '[Service]', '[Install]'])
  const valuesOf = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  const [command = ''] = valuesOf('ExecStart')
  const [node, script, ...args] = command.split(' ')
  assert.deepEqual([node, script], ['/usr/bin/node', `/opt/tillkit/${installed}`])
  assertMonitored(args)
  assertKnown(valuesOf('Environment').map((each) => each.split('=')[0] ?? ''))
  assert.deepEqual(valuesOf('Restart'), ['always'])
  assert.deepEqual(valuesOf('EnvironmentFile'), ['-/etc/tillkit.env'])
  for (const [name] of text.matchAll(/\bTILLKIT_\w+/g)) assert.ok(name in VARIABLES, name)
})

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd accepts the units and the timer', {
  skip: hasSystemd ? false : 'no systemd-analyze here',
}, (t) => {
  const folder = temporaryFolder(t)
  const units = ['tillkit.service', 'tillkit-audit.service', 'tillkit-audit.timer'].map((name) => {
    // systemd also checks that the program and the account exist.
    writeFileSync(join(folder, name), read(name).replace('/usr/bin/node', process.execPath))
    return join(folder, name)
  })
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units])
  assert.equal(stderr.toString(), '')
  assert.equal(status, 0)
})

/** Runs a shell command of a page or a unit, with the database and the folders of a test. */
function runShell(command: string, folder: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const main = resolve('dist/cli/main.js')
  writeFileSync(join(bin, 'tillkit'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  chmodSync(join(bin, 'tillkit'), 0o755)
  const local = command
    .replace(`/usr/bin/node /opt/tillkit/${installed}`, 'tillkit')
    .replaceAll(/\/var\/(lib|backups)\/tillkit/g, folder)
  const env = { PATH: `${bin}:${process.env.PATH}`, TILLKIT_DB: join(folder, 'till.db') }
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', local], { env })
  assert.equal(status, 0, `${local}\n${stderr}`)
  return String(stdout)
}

test('the timer archives audit entries that are older than 90 days', async (t) => {
  const folder = temporaryFolder(t)
  const storage = await openSqliteStorage(join(folder, 'till.db'))
  const { till } = await createShop({ storage, now: createClock().now })
  await till.close()
  const [, quoted = ''] =
    /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(read('tillkit-audit.service')) ?? []
  const command = quoted.replaceAll('%%', '%').replaceAll('$$', '$')

  assert.match(runShell(command, folder), /^archived +[1-9]/m)

  const [archive = ''] = readdirSync(folder).filter((name) =>
    /^audit-\d{4}-\d\d-\d\d\.jsonl$/.test(name),
  )
  assert.match(readFileSync(join(folder, archive), 'utf8'), /"action":"account.create"/)
})

test('the backup line of cron escapes %, keeps the backups of two weeks and removes older ones', async (t) => {
  const { folder } = await createShopFile(t)
  const page = readFileSync('docs/operations.md', 'utf8')
  const [, command = ''] = /^0 3 \* \* \* tillkit (.*)$/m.exec(page) ?? []
  // cron ends the command at a % without a backslash, and removes the backslash of \%.
  const [run = ''] = command.split(/(?<!\\)%/)
  for (const [name, days] of [
    ['old', 16],
    ['young', 13],
  ] as const) {
    const file = join(folder, `till-${name}.db`)
    writeFileSync(file, '')
    utimesSync(file, new Date(), new Date(Date.now() - days * 86_400_000))
  }

  runShell(run.replaceAll('\\%', '%'), folder)

  const backups = readdirSync(folder).filter((name) => name.startsWith('till-'))
  const day = /^till-\d{4}-\d\d-\d\d\.db$/
  assert.deepEqual(
    backups.filter((name) => !day.test(name)),
    ['till-young.db'],
  )
  assert.equal(backups.length, 2)
})

/** The system calls of a group, including those of nested groups. */
function callsOf(group: string): string[] {
  const { stdout } = spawnSync('systemd-analyze', ['syscall-filter', group], { encoding: 'utf8' })
  const lines = stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
  return lines.flatMap((line) => (line.startsWith('@') ? callsOf(line) : line))
}

const hasStrace = spawnSync('strace', ['-V']).status === 0
const cannotTrace = hasSystemd && hasStrace ? false : 'no strace or no systemd-analyze here'

test('the unit allows every system call that serve makes', { skip: cannotTrace }, async (t) => {
  const folder = temporaryFolder(t)
  const trace = join(folder, 'trace')
  const args = ['serve', '--db', join(folder, 'till.db'), '--port', '0', '--workers', '2']
  const strace = ['-f', '-qq', '-o', trace, process.execPath, 'dist/cli/main.js', ...args]
  const child = spawn('strace', strace, { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'exit') // at once if dist/ is missing
  const [line] = await Promise.race([once(child.stdout, 'data'), ended])
  const url = /http:\/\/\S+/.exec(String(line))?.[0]
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
  const [server] = childrenOf(child.pid)
  process.kill(server ?? 0, 'SIGTERM')
  await ended

  const filters = [...read('tillkit.service').matchAll(/^SystemCallFilter=(.*)$/gm)]
  const allowed = new Set<string>()
  for (const [, value = ''] of filters) {
    const groups = value.replace('~', '').split(' ')
    for (const call of groups.flatMap(callsOf)) {
      if (value.startsWith('~')) allowed.delete(call)
      else allowed.add(call)
    }
  }
  allowed.add('fchown') // as root, SQLite changes the owner of a file to that of the database
  const made = readFileSync(trace, 'utf8').matchAll(/^\d+ +([a-z]\w*)\(/gm)
  const calls = new Set([...made].map(([, call = '']) => call))
  assert.ok(calls.size > 40, String(calls.size))
  assert.deepEqual(
    [...calls].filter((call) => !allowed.has(call)),
    [],
  )
})
