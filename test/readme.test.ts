// run: early
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { tillkit } from './support/cli.ts'
import { temporaryFolder } from './support/folder.ts'
import { blocksOf, shell } from './support/pages.ts'

const readme = readFileSync('README.md', 'utf8')
const { version, scripts } = JSON.parse(readFileSync('package.json', 'utf8'))

/** The code blocks under a heading of the README. */
function blocksUnder(heading: string, language: string): string[] {
  return blocksOf(readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '', language)
}

/**
 * A copy of the project with only the files that a clone of the current state would have. Does not
 * ask git, which an archive of the sources lacks.
 */
function freshClone(t: TestContext): string {
  const clone = join(temporaryFolder(t), 'tillkit')
  const ignored = readFileSync('.gitignore', 'utf8').trim().split('\n')
  const isIgnored = (name: string) =>
    name === '.git' ||
    ignored.some((line) =>
      line.startsWith('*') ? name.endsWith(line.slice(1)) : name === line.replace(/\/$/, ''),
    )
  cpSync('.', clone, { recursive: true, filter: (path) => !isIgnored(basename(path)) })
  return clone
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

/**
 * Runs each line of a page. Later lines use the ids that earlier ones print. The CLI runs in this
 * process, which takes a tenth of the time.
 */
async function runCommands(clone: string, block: string, given: NodeJS.ProcessEnv) {
  const [alias = '', ...commands] = block.trim().split('\n')
  assert.equal(alias, "alias tillkit='node dist/cli/main.js'")
  const env = { ...given }
  let all = ''
  // `serve` has its own test, and `webhooks test` needs a receiver: see test/cli/webhooks.test.ts.
  // `ACCOUNT=acc_…` stands for the printed id.
  const left = /tillkit (serve|webhooks test)|=(acc|prj)_…$/
  for (const command of commands.filter((each) => !left.test(each))) {
    const output = /^(\w+=\S+ )?tillkit /.test(command)
      ? await runTillkit(command, clone, env)
      : await shell(command, clone, env)
    env.ACCOUNT ??= /acc_\w+/.exec(output)?.[0]
    env.PROJECT ??= /prj_\w+/.exec(output)?.[0]
    env.IMPORT ??= /imp_\w+/.exec(output)?.[0]
    if (command.includes('keys add')) env.KEY_ID = JSON.parse(output).key_id
    all += output
  }
  return all
}

/** Runs `NAME=value tillkit words > file`, as a shell in this directory does. */
async function runTillkit(command: string, folder: string, env: NodeJS.ProcessEnv) {
  const words = [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) =>
    word.startsWith("'")
      ? word.slice(1, -1)
      : word.replace(/\$(\w+)/, (_, name) => env[name] ?? ''),
  )
  const [, name, value] = /^(\w+)=(.*)/.exec(words[0] ?? '') ?? []
  const end = words.indexOf('>')
  const args = words.slice(name === undefined ? 1 : 2, end < 0 ? undefined : end)
  const before = process.cwd()
  process.chdir(folder)
  try {
    const set = name === undefined ? {} : { [name]: value }
    const { code, stdout, stderr } = await tillkit(args, { env: { ...env, ...set } })
    assert.equal(code, 0, `${command}\n${stdout}${stderr}`)
    if (end >= 0) writeFileSync(words[end + 1] ?? '', stdout)
    return end < 0 ? stdout + stderr : ''
  } finally {
    process.chdir(before)
  }
}

test('every command of the README and of the page about commands works', async (t) => {
  const clone = freshClone(t)
  const [start = ''] = blocksUnder('Run it', 'sh')
  assert.equal(start.trim(), 'npm ci && npm start')
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules')) // instead of `npm ci`
  // Not `npm start`, whose build takes 5 s of CPU time: `npm test` has built the same files.
  assert.equal(
    scripts.start,
    `npm run --silent driver && ${scripts.prepack} && node scripts/start.mjs`,
  )
  cpSync('dist', join(clone, 'dist'), { recursive: true })
  const server = spawn(process.execPath, ['scripts/start.mjs'], {
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
    assert.match(output, /sword.*month +currency.*gold_100.*price: 499 → 599.*Applied\./s)
    assert.equal(output.match(/price: 499 → 599/g)?.length, 2, 'once in the plan, once applied')
  })

  await t.test('all commands work on a new database', async () => {
    // `copy` fails if a server writes to its source meanwhile, such as the day of use of a key.
    const ended = once(server, 'exit')
    killGroup(server.pid)
    await ended
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
    const script = block
      .replace('tillkit account', 'node dist/cli/main.js account')
      .replace('tillkit serve', 'exec node dist/cli/main.js serve')
    const args = ['-euo', 'pipefail', '-c', script.replace('--port 8080', '--port 0')]
    const child = spawn('bash', args, { cwd: clone, stdio: ['ignore', 'pipe', 'ignore'] })
    t.after(() => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    const lines = await linesUntil(child, 'http')
    assert.match(lines.join('\n'), /^account_key +ak_/m)
    assert.match(lines.at(-1) ?? '', /^tillkit listens on http/)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })

  await t.test('the package is packed under the name that the README has', async () => {
    const [block = ''] = blocksUnder('Embed it', 'sh')
    await shell(block, clone, { npm_config_ignore_scripts: 'true' })
    assert.ok(readme.includes(`tillkit-${version}.tgz`))
    assert.ok(existsSync(join(clone, `tillkit-${version}.tgz`)))
  })

  await t.test('the embedding example serves and stops', async (t) => {
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

/** Ends a process that this test started, and its child processes. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {}
}
