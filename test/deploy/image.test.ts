import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parseArguments } from '../../cli/arguments.ts'
import { serve } from '../../cli/commands/serve.ts'
import { mayRun } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { freePort } from '../support/port.ts'

const packageJson = JSON.parse(readFileSync('package.json', 'utf8'))
const lines = readFileSync('deploy/Dockerfile', 'utf8').replaceAll('\\\n', '').split('\n')
const steps = lines.filter((line) => line !== '' && !line.startsWith('#'))
/** The arguments of the instructions with this name. */
const argumentsOf = (word: string) =>
  steps.flatMap((step) => (step.startsWith(`${word} `) ? [step.slice(word.length + 1)] : []))
const argumentOf = (word: string) => argumentsOf(word).at(-1) ?? ''

const directory = argumentOf('VOLUME')
const variables = Object.fromEntries(
  [...argumentOf('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
)
const healthCheck: string[] = JSON.parse(argumentOf('HEALTHCHECK').replace(/^.*?CMD /, ''))

test('the image runs the program of the package', () => {
  assert.deepEqual(JSON.parse(argumentOf('ENTRYPOINT')), Object.keys(packageJson.bin))
  const [name, ...args] = JSON.parse(argumentOf('CMD'))
  assert.equal(name, 'serve')
  parseArguments(serve, args, {})
  assert.match(argumentOf('FROM'), /^node:2[2-9]\./, 'a Node that has SQLite itself')
  assert.equal(argumentOf('EXPOSE'), variables.PORT)
})

const NOBODY = 65_534
const skip =
  process.getuid?.() !== 0
    ? 'only root has other users'
    : !mayRun(NOBODY) && 'other users may not read this folder'

test('the image starts as a user that may write only its volume, and its health check passes', {
  skip,
}, async (t) => {
  const root = temporaryFolder(t)
  chmodSync(root, 0o755)
  const [work, volume] = [join(root, argumentOf('WORKDIR')), join(root, directory)]
  mkdirSync(work, { recursive: true })
  // The instruction that makes the directory of the volume, for the user of this test.
  const making = argumentsOf('RUN').filter((run) => run.includes(directory))
  assert.equal(making.length, 1)
  const local = `${making[0]}`
    .replace(directory, volume)
    .replaceAll(`=${argumentOf('USER')}`, `=${NOBODY}`)
  assert.equal(spawnSync('sh', ['-c', local]).status, 0)
  assert.deepEqual([statSync(volume).uid, statSync(volume).mode & 0o777], [NOBODY, 0o700])
  assert.equal(statSync(work).uid, 0)
  const port = await freePort()
  const env = {
    ...variables,
    PATH: process.env.PATH,
    HOST: '127.0.0.1',
    PORT: String(port),
    TILLKIT_DB: variables.TILLKIT_DB?.replace(directory, volume),
  }
  const options = { cwd: work, uid: NOBODY, gid: NOBODY, env }
  const isHealthy = () => spawnSync(process.execPath, healthCheck.slice(1), options).status === 0
  assert.equal(isHealthy(), false)

  const main = resolve('dist/cli/main.js')
  const child = spawn(process.execPath, [main, ...JSON.parse(argumentOf('CMD'))], options)
  t.after(() => child.kill('SIGKILL'))
  let log = ''
  child.stderr.on('data', (chunk) => (log += chunk))
  const ended = once(child, 'close')
  await Promise.race([once(child.stdout, 'data'), ended])

  assert.equal(child.exitCode, null, log)
  assert.equal(isHealthy(), true, log)
  assert.ok(statSync(join(volume, 'till.db')).isFile())
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})
