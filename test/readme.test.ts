// run: early
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { after, type TestContext, test } from 'node:test'
import { tillkit } from './support/cli.ts'
import { temporaryFolder } from './support/folder.ts'
import { blocksOf, missing, SHELLS, shell } from './support/pages.ts'

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

/** Starts the demo shop, as `npm start` does. */
async function startDemo(t: TestContext, clone: string, db: string) {
  // Not `npm start`, whose build takes 5 s of CPU time: `npm test` has built the same files.
  const server = spawn(process.execPath, ['scripts/start.mjs'], {
    cwd: clone,
    detached: true, // a process group of its own, to be ended as a whole
    env: { ...process.env, PORT: '0', TILLKIT_DB: db },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => killGroup(server.pid))
  const printed = (await linesUntil(server, 'filename=purchases.csv')).join('\n')
  server.stdout?.resume()
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0] ?? ''
  const account_key = /ak_[\w-]+/.exec(printed)?.[0] ?? ''
  return { url, account_key }
}

/** Starts a shell that reads lines as if they were pasted. It has no terminal and a new home. */
function pasteInto(name: keyof typeof SHELLS, lines: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn(name, SHELLS[name], {
    cwd,
    detached: true,
    env: { ...process.env, HOME: temporaryHome, ...env },
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  child.stdin.end(lines)
  const closed = once(child, 'close').then(([code]) => {
    assert.equal(code, 0, `${name}: ${output.stdout}${output.stderr}`)
    assert.doesNotMatch(output.stderr, /not found|no matches|parse error|syntax error/i, name)
    return output.stdout
  })
  return { child, closed }
}

const temporaryHome = temporaryFolder({ after })

test('the README has at most 900 words', () => {
  const words = readme.split(/\s+/).filter(Boolean).length
  assert.ok(words <= 900, String(words))
})

test('every command of the README and of the page about commands works', async (t) => {
  const clone = freshClone(t)
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules')) // instead of `npm ci`
  assert.equal(
    scripts.start,
    `npm run --silent driver && ${scripts.prepack} && node scripts/start.mjs`,
  )
  cpSync('dist', join(clone, 'dist'), { recursive: true })
  const [start = ''] = blocksUnder('Run it', 'sh')
  const [settings = '', calls = ''] = blocksUnder('Use it over HTTP', 'sh')
  const [script = ''] = blocksUnder('Script it', 'sh')
  const [secured = ''] = blocksUnder('Secure it', 'sh')
  const [alias = ''] = script.split('\n', 1)
  assert.equal(readme.match(/```sh\n/g)?.length, 5)

  for (const name of Object.keys(SHELLS) as (keyof typeof SHELLS)[]) {
    const skip = missing(name)
    await t.test(`the blocks of the README run when pasted into ${name}`, { skip }, async (t) => {
      // `npm ci` needs the network.
      const npm = await pasteInto(name, `npm() { echo "run $1"; }\n${start}`, clone, {}).closed
      assert.match(npm, /run ci\n.*run start\n/)

      const db = `${name}.db`
      const { url, account_key } = await startDemo(t, clone, db)
      assert.match((await fetch(url)).url, /\/console$/)
      const set = settings.replace('http://127.0.0.1:3000', url).replace('ak_…', account_key)
      assert.equal(set.trim(), `SERVER=${url}\nACCOUNT_KEY=${account_key}`)
      const pasted = set + calls + script
      const output = await pasteInto(name, pasted, clone, { TILLKIT_DB: db }).closed
      assert.match(output, /"added".*"items":\[.*"owned":\[\{"sku":"gold_100"/s)
      assert.match(output, /gold_100 +consumable +2 .*currency +purchased/s)

      const more = secured.replaceAll('studio.db', `studio-${name}.db`).replace('8080', '0')
      const server = pasteInto(name, `${alias}\n${more}`, clone, {})
      t.after(() => killGroup(server.child.pid))
      const lines = await linesUntil(server.child, 'listens on')
      server.child.stdout.resume()
      assert.match(lines.join('\n'), /^account_key +ak_/m)
      assert.ok(server.child.pid)
      process.kill(-server.child.pid, 'SIGTERM') // interactive shells ignore it
      await server.closed
    })
  }

  await t.test('all commands work on a new database', async () => {
    const pages = ['docs/cli.md', 'docs/catalog.md'].map((page) => readFileSync(page, 'utf8'))
    const env = { MASTER_KEY: randomBytes(32).toString('hex') }
    const output = await runCommands(
      clone,
      pages.flatMap((page) => blocksOf(page, 'sh')).join(''),
      env,
    )
    assert.match(output, /T-1002 .*potion.*Applied\./s)
  })

  await t.test('the embedding example serves, stops at Ctrl-C and starts again', async (t) => {
    assert.ok(readme.includes(`tillkit-${version}.tgz`))
    const [code = ''] = blocksUnder('Embed it', 'js')
    writeFileSync(join(clone, 'embed.mjs'), code.replace('port: 3001', 'port: 0'))
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const child = spawn(process.execPath, ['embed.mjs'], {
        cwd: clone,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      t.after(() => child.kill('SIGKILL'))
      const ended = once(child, 'exit')
      const lines = await linesUntil(child, 'curl')
      assert.match(lines.join('\n'), /sku: 'sword'/)
      assert.match(await shell(lines.at(-1) ?? '', clone, {}), /"items":\[\{.*"name":"sword"/)
      child.kill(signal)
      assert.deepEqual(await ended, [0, null])
    }
  })
})

/** Ends a process that this test started, and its child processes. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {}
}
