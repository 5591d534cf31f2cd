import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { sqliteDrivers } from './support/drivers.ts'
import { temporaryFolder } from './support/folder.ts'

const readme = readFileSync('README.md', 'utf8')

/** The code blocks under a heading of the README. */
function blocksUnder(heading: string, language: string): string[] {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const found = [...section.matchAll(/```(\w+)\n(.*?)```/gs)].filter(
    ([, lang]) => lang === language,
  )
  assert.ok(found.length > 0, `the README has no ${language} under "${heading}"`)
  return found.map(([, , code]) => code ?? '')
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

/** `npm ci`, but for the minute in which it compiles SQLite's driver: here it has done so. */
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

const drivers = await sqliteDrivers()
const installed = drivers.find(({ driver }) => driver === 'better-sqlite3')
const skip = installed?.skip && 'npm ci has run under another Node, and would again'

test('every command of the README works on a fresh clone', { skip }, async (t) => {
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

  await t.test('the way through the API', async () => {
    const [assignments = '', ...steps] = blocksUnder('The way through the API', 'sh')
    assert.match(
      assignments,
      /^API=http:\/\/127\.0\.0\.1:3000\/api\/v1\nACCOUNT_KEY=.*\nPUBLIC_KEY=/,
    )
    const output = await shell(steps.join('\n'), clone, { API, ACCOUNT_KEY, PUBLIC_KEY })
    assert.match(output, /"session":\{"token".*"items":\[.*"name":"sword".*\{"ok":true\}$/s)
  })

  await t.test('the CLI, beside the running server', async () => {
    const [block = ''] = blocksUnder('The CLI', 'sh')
    const [safety = ''] = blocksUnder('Keys, tokens and safety', 'sh')
    const [alias = '', ...commands] = `${block}${safety}`.trim().split('\n')
    const tillkit = /^alias tillkit='(.*)'$/.exec(alias)?.[1]
    let ACCOUNT = ''
    let PROJECT = ''
    let KEY_ID = ''
    const env = { MASTER_KEY: randomBytes(32).toString('hex'), TILLKIT_DB: 'cli.db' }
    for (const command of commands.filter((each) => !each.includes('tillkit serve'))) {
      const line = command.replace(/(?<=^|KEY )tillkit/, tillkit ?? '')
      const output = await shell(line, clone, { ...env, ACCOUNT, PROJECT, KEY_ID })
      if (command.includes('account create')) ACCOUNT = /acc_\w+/.exec(output)?.[0] ?? ''
      if (command.includes('project create')) PROJECT = /prj_\w+/.exec(output)?.[0] ?? ''
      if (command.includes('keys add')) KEY_ID = JSON.parse(output).key_id
      if (command.includes('purchases list')) assert.match(output, /T-1002 .*potion/)
    }
  })

  await t.test('embedding', async (t) => {
    const [code = ''] = blocksUnder('Embed it', 'js')
    writeFileSync(join(clone, 'embed.mjs'), code.replace('port: 3000', 'port: 0'))
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

/** Ends a process started by this test and those that it started. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {}
}
