import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { sqliteDrivers } from './support/drivers.ts'
import { temporaryFolder } from './support/folder.ts'

const readme = readFileSync('README.md', 'utf8')
const version: string = JSON.parse(readFileSync('package.json', 'utf8')).version

/** The code blocks of a page. */
function blocksOf(page: string, language: string): string[] {
  const found = [...page.matchAll(/```(\w+)\n(.*?)```/gs)].filter(([, each]) => each === language)
  assert.ok(found.length > 0, `there is no ${language}`)
  return found.map(([, , code]) => code ?? '')
}

/** The code blocks under a heading of the README. */
function blocksUnder(heading: string, language: string): string[] {
  return blocksOf(readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '', language)
}

/** The project as a clone of the present state would have it. */
function freshClone(t: TestContext): string {
  const clone = join(temporaryFolder(t), 'tillkit')
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  for (const file of files.trim().split('\n')) {
    mkdirSync(dirname(join(clone, file)), { recursive: true })
    cpSync(file, join(clone, file))
  }
  return clone
}

async function shell(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, `${script}\n${output}`)
  return output
}

/** `npm ci` without compiling SQLite's driver, which takes a minute: copies the compiled one. */
async function install(clone: string): Promise<void> {
  await shell('npm ci', clone, { npm_config_ignore_scripts: 'true' })
  const driver = 'node_modules/better-sqlite3/build/Release/better_sqlite3.node'
  mkdirSync(dirname(join(clone, driver)), { recursive: true })
  cpSync(driver, join(clone, driver))
}

async function linesUntil(child: ReturnType<typeof spawn>, last: string): Promise<string[]> {
  const lines: string[] = []
  if (!child.stdout) return lines
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (line.includes(last)) break
  }
  return lines
}

/** Runs each `tillkit` line of a page, and takes the ids of later lines from what earlier ones print. */
async function runCommands(clone: string, block: string, env: NodeJS.ProcessEnv): Promise<string> {
  const [alias = '', ...commands] = block.trim().split('\n')
  const tillkit = /^alias tillkit='(.*)'$/.exec(alias)?.[1] ?? ''
  assert.ok(tillkit, alias)
  const ids: NodeJS.ProcessEnv = {}
  let all = ''
  // `serve` has a test of its own, and `ACCOUNT=acc_…` stands for the id that was printed.
  for (const command of commands.filter((each) => !/tillkit serve|=(acc|prj)_…$/.test(each))) {
    const output = await shell(command.replace(/(?<=^|KEY )tillkit/, tillkit), clone, {
      ...env,
      ...ids,
    })
    ids.ACCOUNT ??= /acc_\w+/.exec(output)?.[0]
    ids.PROJECT ??= /prj_\w+/.exec(output)?.[0]
    if (command.includes('keys add')) ids.KEY_ID = JSON.parse(output).key_id
    all += output
  }
  return all
}

const drivers = await sqliteDrivers()
const installed = drivers.find(({ driver }) => driver === 'better-sqlite3')
const skip = installed?.skip && 'npm ci has run under another Node, and would again'

test('every command of the README and of the page about commands works', { skip }, async (t) => {
  const clone = freshClone(t)
  const [start = ''] = blocksUnder('Run it', 'sh')
  assert.equal(start.trim(), 'npm ci && npm start')
  await install(clone)
  const server = spawn('npm', ['start'], {
    cwd: clone,
    detached: true, // a process group of its own, to be ended as a whole
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => killGroup(server.pid))
  const printed = (await linesUntil(server, 'filename=purchases.csv')).join('\n')
  server.stdout?.resume()
  const API = `${/http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]}/api/v1`
  const ACCOUNT_KEY = /ak_[\w-]+/.exec(printed)?.[0]
  const PUBLIC_KEY = /pk_[\w-]+/.exec(printed)?.[0]

  await t.test('the API answers the requests', async () => {
    const [assignments = '', ...steps] = blocksUnder('Use the API', 'sh')
    assert.match(
      assignments,
      /^API=http:\/\/127\.0\.0\.1:3000\/api\/v1\nACCOUNT_KEY=.*\nPUBLIC_KEY=/,
    )
    const output = await shell(steps.join('\n'), clone, { API, ACCOUNT_KEY, PUBLIC_KEY })
    assert.match(output, /"session":\{"token".*"items":\[.*"name":"sword".*\{"ok":true\}$/s)
  })

  await t.test('the commands work on the database of the running server', async () => {
    const block = blocksUnder('Use the command line', 'sh').join('')
    const output = await runCommands(clone, block, {})
    assert.match(output, /sword.*gold_100.*potion.*price: 499 → 599.*Applied\./s)
  })

  await t.test('all commands work on a new database', async () => {
    const pages = ['docs/cli.md', 'docs/catalog.md'].map((page) => readFileSync(page, 'utf8'))
    const env = { MASTER_KEY: randomBytes(32).toString('hex'), TILLKIT_DB: 'cli.db' }
    const output = await runCommands(
      clone,
      pages.flatMap((page) => blocksOf(page, 'sh')).join(''),
      env,
    )
    assert.match(output, /T-1002 .*potion.*Applied\./s)
  })

  await t.test('the secured server starts and stops', async (t) => {
    const [block = ''] = blocksUnder('Secure it', 'sh')
    const script = block.replace('tillkit serve', 'exec node dist/cli/main.js serve')
    const args = ['-euo', 'pipefail', '-c', script.replace('--port 8080', '--port 0')]
    const child = spawn('bash', args, { cwd: clone, stdio: ['ignore', 'pipe', 'ignore'] })
    t.after(() => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    const [url = ''] = await linesUntil(child, 'http')
    assert.match(url, /^tillkit listens on http/)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })

  await t.test('the package is packed under the name that the README has', async () => {
    const [block = ''] = blocksUnder('Embed it', 'sh')
    await shell(block, clone, {})
    assert.ok(readme.includes(`tillkit-${version}.tgz`))
    assert.ok(existsSync(join(clone, `tillkit-${version}.tgz`)))
  })

  await t.test('the example of embedding serves and stops', async (t) => {
    const [code = ''] = blocksUnder('Embed it', 'js')
    const example = code.replace('port: 3000', 'port: 0').replace('studio.db', 'embedded.db')
    writeFileSync(join(clone, 'embed.mjs'), example)
    const child = spawn(process.execPath, ['embed.mjs'], {
      cwd: clone,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    const [key = '', url = ''] = await linesUntil(child, 'http')
    assert.match(key, /^ak_[\w-]{43}$/)
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })
})

/** Ends a process that this test started, and the processes which that one started. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {}
}
