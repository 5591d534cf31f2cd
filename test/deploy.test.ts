import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Script } from 'node:vm'
import { parse } from 'yaml'
import { parseArguments } from '../cli/command.ts'
import { serve } from '../cli/commands/serve.ts'
import { VARIABLES } from '../cli/config.ts'
import { temporaryFolder } from './support/folder.ts'

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8')
const packageJson = JSON.parse(readFileSync('package.json', 'utf8'))
/** Where npm puts the program in the folder that it installs into. */
const installed = `node_modules/${packageJson.name}/${packageJson.bin.tillkit}`

/** Fails unless `serve` takes them. */
function assertServes([name, ...args]: readonly string[]): void {
  assert.equal(name, 'serve')
  parseArguments(serve, args)
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

test('the compose file starts servers as serve takes it, and tells who is ready', () => {
  const compose = parse(read('compose.yaml'), { merge: true })
  const services: [string, Service][] = Object.entries(compose.services)
  for (const [name, { image, healthcheck, restart }] of services) {
    assert.match(image, /^[a-z]+:[a-z\d]+$/, name)
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

test('the proxy asks every server of the compose file whether it is ready', () => {
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

test('the image runs the program that the package brings', () => {
  const lines = read('Dockerfile').replaceAll('\\\n', '').split('\n')
  const steps = lines.filter((line) => line !== '' && !line.startsWith('#'))
  const words = steps.map((step) => step.split(' ')[0])
  assert.deepEqual(
    words,
    ['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'EXPOSE', 'ENTRYPOINT', 'CMD'],
    'instructions in their order',
  )
  const argumentsOf = (word: string) =>
    JSON.parse(steps[words.indexOf(word)]?.slice(word.length) ?? '')
  assert.deepEqual(argumentsOf('ENTRYPOINT'), Object.keys(packageJson.bin))
  assertServes(argumentsOf('CMD'))
  const image = steps[0]?.split(' ')[1] ?? ''
  assert.match(image, /^node:(2[2-9])-slim$/, 'a Node that has SQLite itself')
})

test('the unit starts serve, and names what tillkit reads', () => {
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

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd takes the unit', { skip: hasSystemd ? false : 'no systemd-analyze here' }, (t) => {
  const unit = join(temporaryFolder(t), 'tillkit.service')
  // It looks for the program, too, and for the account.
  const text = read('tillkit.service').replace('/usr/bin/node', process.execPath)
  writeFileSync(unit, text)
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit])
  assert.equal(stderr.toString(), '')
  assert.equal(status, 0)
})
