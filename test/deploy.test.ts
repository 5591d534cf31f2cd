import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Script } from 'node:vm'
import { parse } from 'yaml'
import { parseArguments } from '../cli/arguments.ts'
import { serve } from '../cli/commands/serve.ts'
import { VARIABLES } from '../cli/config.ts'
import { serveProcess } from './support/cli.ts'
import { eventuallyHolds } from './support/eventually.ts'
import { temporaryFolder } from './support/folder.ts'
import { startPostgres } from './support/postgres.ts'
import { childrenOf } from './support/served.ts'

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8')
const packageJson = JSON.parse(readFileSync('package.json', 'utf8'))
/** The path of the program in a folder into which npm has installed the package. */
const installed = `node_modules/${packageJson.name}/${packageJson.bin.tillkit}`

/** Fails unless `serve` accepts the arguments. */
function assertServes([name, ...args]: readonly string[]): void {
  assert.equal(name, 'serve')
  parseArguments(serve, args, {})
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
  readonly healthcheck: { readonly test: readonly string[] }
  readonly depends_on?: unknown
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly restart: string
}

test('the compose file starts serve with valid options and has health checks', () => {
  const compose = parse(read('compose.yaml'), { merge: true })
  const services: [string, Service][] = Object.entries(compose.services)
  for (const [name, { healthcheck, restart }] of services) {
    assert.equal(healthcheck.test[0], 'CMD', name)
    assert.equal(restart, 'unless-stopped', name)
  }
  const servers = services.filter(([, { image }]) => image.startsWith('tillkit:'))
  assert.equal(servers.length, 2)
  for (const [, { command = [], environment = {}, depends_on, healthcheck }] of servers) {
    assertServes(command)
    assertKnown(Object.keys(environment))
    assert.match(environment.TILLKIT_DB ?? '', /^postgres:\/\/till:\$\{[^}]+\}@postgres\/till$/)
    assert.deepEqual(depends_on, { postgres: { condition: 'service_healthy' } })
    const [, program, flag, script = ''] = healthcheck.test
    assert.deepEqual([program, flag], ['node', '-e'])
    assert.match(script, /:3000\/readyz/)
    new Script(script)
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
  const compose = parse(read('compose.yaml'), { merge: true })
  const servers = Object.keys(compose.services).filter((name) => name.startsWith('till-'))
  assert.match(
    proxy,
    new RegExp(`reverse_proxy ${servers.map((each) => `${each}:3000`).join(' ')} {`),
  )
  assert.match(proxy, /health_uri \/readyz/)
  assert.equal(proxy.split('{').length, proxy.split('}').length)
})

test('the image runs the program of the package', () => {
  const lines = read('Dockerfile').replaceAll('\\\n', '').split('\n')
  const steps = lines.filter((line) => line !== '' && !line.startsWith('#'))
  const words = steps.map((step) => step.split(' ')[0])
  assert.deepEqual(
    words,
    ['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'EXPOSE', 'ENTRYPOINT', 'CMD'],
    'the instructions in order',
  )
  const argumentsOf = (word: string) =>
    JSON.parse(steps[words.indexOf(word)]?.slice(word.length) ?? '')
  assert.deepEqual(argumentsOf('ENTRYPOINT'), Object.keys(packageJson.bin))
  assertServes(argumentsOf('CMD'))
  const image = steps[0]?.split(' ')[1] ?? ''
  assert.match(image, /^node:2[2-9]\./, 'a Node that has SQLite itself')
})

test('every image has an exact version, and the project’s own image the version of the package', () => {
  const compose = parse(read('compose.yaml'), { merge: true })
  const services: Service[] = Object.values(compose.services)
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image)
  const images = [...bases, ...services.map(({ image }) => image)]
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

test('every driver is installed in the version that the tests use', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  for (const name of ['Dockerfile', 'tillkit.service']) {
    const installed = [...read(name).matchAll(/ (postgres|better-sqlite3)(@\S+)?(?=\s)/g)]
    assert.ok(installed.length > 0, name)
    for (const [, driver, version] of installed) {
      assert.equal(version, `@${packages[`node_modules/${driver}`].version}`, name)
    }
  }
})

test('the unit starts serve, and its settings are ones that tillkit reads', () => {
  const sections: { [name: string]: [key: string, value: string][] } = {}
  let section = ''
  for (const line of read('tillkit.service').split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section
    const [key = '', value] = line.split(/=(.*)/)
    if (value !== undefined) sections[section] = [...(sections[section] ?? []), [key, value]]
  }
  assert.deepEqual(Object.keys(sections), ['Unit', 'Service', 'Install'])
  const valuesOf = (name: string) =>
    (sections.Service ?? []).filter(([key]) => key === name).map(([, value]) => value)
  const [command = ''] = valuesOf('ExecStart')
  const [node, script, ...args] = command.split(' ')
  assert.deepEqual([node, script], ['/usr/bin/node', `/opt/tillkit/${installed}`])
  assertServes(args)
  assertKnown(valuesOf('Environment').map((each) => each.split('=')[0] ?? ''))
  assert.deepEqual(valuesOf('Restart'), ['always'])
  assert.deepEqual(valuesOf('EnvironmentFile'), ['-/etc/tillkit.env'])
  const text = read('tillkit.service')
  for (const [name] of text.matchAll(/\bTILLKIT_\w+/g)) assert.ok(name in VARIABLES, name)
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const withoutPromtool = hasPromtool ? false : 'no promtool here'

test('promtool accepts the alerts, and they fire as expected', { skip: withoutPromtool }, () => {
  for (const args of [
    ['check', 'rules', 'deploy/alerts.yml'],
    ['test', 'rules', 'deploy/alerts.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
})

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
  readonly templating: { readonly list: readonly { readonly query: unknown }[] }
}

const postgres = await startPostgres()

/** The `/metrics` of servers with workers on a file, and on PostgreSQL. */
async function scrapeAll(t: TestContext): Promise<string[]> {
  const path = join(temporaryFolder(t), 'till.db')
  const file = ['--db', path, '--port', '0', '--workers', '2', '--metrics', '--rate-limit', '600']
  const database = await postgres.createDatabase(t)
  const alone = ['--db', database, '--port', '0', '--metrics']
  const scrapes = [file, alone].map(async (args) => {
    const { url, child, closed } = await serveProcess(t, args)
    await fetch(`${url}/nowhere`)
    let text = ''
    await eventuallyHolds(async () => {
      text = await (await fetch(`${url}/metrics`)).text()
      assert.match(text, /^tillkit_http_requests_total/m) // only the worker with the request has it
    })
    child.kill('SIGTERM')
    await closed
    return text
  })
  return Promise.all(scrapes)
}

test('the server has every metric that the alerts and the dashboard use', async (t) => {
  const alerts: Alert[] = parse(read('alerts.yml')).groups.flatMap(
    ({ rules }: { rules: Alert[] }) => rules,
  )
  for (const { alert, annotations } of alerts) {
    assert.match(alert, /^Tillkit[A-Z]/)
    assert.ok(annotations.summary && annotations.runbook, alert)
  }
  const { panels, templating }: Dashboard = JSON.parse(read('grafana.json'))
  const expressions = [
    ...alerts.map(({ expr }) => expr),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    JSON.stringify(templating.list),
  ]
  const used = new Set(expressions.join(' ').match(/\b(tillkit|process)_\w+/g))
  assert.ok(used.size > 20, String(used.size))

  const scraped = await scrapeAll(t)

  for (const text of scraped) assertMetricNames(text)
  const served = new Set(
    [...scraped.join('').matchAll(/^([a-z_]+)[{ ]/gm)].map(([, name = '']) => name),
  )
  assert.deepEqual(
    [...used].filter((name) => !served.has(name)),
    [],
  )
})

/** Fails at a name or label that Prometheus reserves, such as a gauge with the label `quantile`. */
function assertMetricNames(scraped: string): void {
  if (!hasPromtool) return
  const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: scraped })
  assert.equal(status, 0, String(stderr))
}

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

/** An example with its servers and certificate replaced by ones that exist here. */
function localExample(name: string, certificate: string): string {
  return read(name)
    .replaceAll(/till-[12]:3000/g, '127.0.0.1:3000')
    .replaceAll(/\/etc\/ssl\/shop\.example\.(pem|key)/g, certificate)
}

/** A certificate and its key in one file, the format of HAProxy. */
function createCertificate(folder: string): string {
  const file = join(folder, 'both.pem')
  const subject = ['-subj', '/CN=shop.example', '-days', '1']
  const both = ['-keyout', file, '-out', join(folder, 'certificate.pem')]
  const made = spawnSync('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    ...both,
    ...subject,
  ])
  assert.equal(made.status, 0, String(made.stderr))
  writeFileSync(file, `${readFileSync(file)}${readFileSync(join(folder, 'certificate.pem'))}`)
  return file
}

const proxies = [
  {
    program: 'nginx',
    version: '-v',
    check(folder: string) {
      const example = join(folder, 'example.conf')
      const main = join(folder, 'nginx.conf')
      writeFileSync(example, localExample('nginx.conf', createCertificate(folder)))
      const files = `pid ${folder}/pid; error_log ${folder}/log;`
      writeFileSync(main, `${files} events {} http { access_log off; include ${example}; }`)
      return ['-t', '-q', '-c', main]
    },
  },
  {
    program: 'haproxy',
    version: '-v',
    check(folder: string) {
      const file = join(folder, 'haproxy.cfg')
      writeFileSync(file, localExample('haproxy.cfg', createCertificate(folder)))
      return ['-c', '-q', '-f', file]
    },
  },
  {
    program: 'caddy',
    version: 'version',
    check: () => ['validate', '--adapter', 'caddyfile', '--config', 'deploy/Caddyfile'],
  },
]

for (const { program, version, check } of proxies) {
  const skip = spawnSync(program, [version]).status === 0 ? false : `no ${program} here`
  test(`${program} accepts its example`, { skip }, (t) => {
    const folder = temporaryFolder(t)
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const { status, stderr } = spawnSync(program, check(folder), { env })
    assert.equal(status, 0, String(stderr))
  })
}

test('systemd accepts the unit', { skip: hasSystemd ? false : 'no systemd-analyze here' }, (t) => {
  const unit = join(temporaryFolder(t), 'tillkit.service')
  // systemd also checks that the program and the account exist.
  const text = read('tillkit.service').replace('/usr/bin/node', process.execPath)
  writeFileSync(unit, text)
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit])
  assert.equal(stderr.toString(), '')
  assert.equal(status, 0)
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
  const [line] = await once(child.stdout, 'data')
  const url = /http:\/\/\S+/.exec(String(line))?.[0]
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
  const [server] = childrenOf(child.pid)
  process.kill(server ?? 0, 'SIGTERM')
  await once(child, 'exit')

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
