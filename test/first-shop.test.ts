// run: early
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { blocksOf, builtClone, missing, openShell, type SHELLS } from './support/pages.ts'

const page = readFileSync('docs/first-shop.md', 'utf8')
const [build = '', folder = '', setUp = '', keys = '', serve = '', start = '', ...steps] = blocksOf(
  page,
  'sh',
)
const [server = '', overHttp = '', embedded = ''] = blocksOf(page, 'js')

/** Starts a command of the page, and resolves when it has printed this many ports. */
async function listening(t: TestContext, command: string, cwd: string, count: number) {
  const [program = '', ...args] = command.trim().split(' ')
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => child.kill('SIGKILL'))
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  const portsOf = () => lines.flatMap((line) => /^.*listen.*\b(\d+)$/.exec(line)?.[1] ?? [])
  const ended = new Promise<never>((_, reject) => child.once('exit', () => reject(lines.join())))
  while (portsOf().length < count) {
    await Promise.race([new Promise((resolve) => reader.once('line', resolve)), ended])
  }
  ended.catch(() => {}) // the end of the test
  return { lines, ports: portsOf() }
}

async function followPage(t: TestContext, program: keyof typeof SHELLS, isEmbedded: boolean) {
  const clone = builtClone(t)
  const paste = openShell(t, program, clone)
  const onAnyPort = (text: string) => text.replace('listen(4000', 'listen(0').replace('8080', '0')
  await paste(folder)
  const cwd = join(clone, 'my-shop')
  await paste(setUp)
  await paste(keys)
  writeFileSync(join(cwd, 'server.mjs'), onAnyPort(server))

  const ports: string[] = []
  if (isEmbedded) writeFileSync(join(cwd, 'shop.mjs'), onAnyPort(embedded))
  else {
    const till = await listening(
      t,
      onAnyPort(serve).replace('npx tillkit', 'node ../dist/cli/main.js'),
      cwd,
      1,
    )
    ports.push(...till.ports)
    writeFileSync(join(cwd, 'shop.mjs'), overHttp.replace('8080', till.ports[0] ?? ''))
  }
  const own = await listening(t, start, cwd, isEmbedded ? 2 : 1)
  ports.push(...own.ports)
  const [api = '', shop = ''] = ports

  const printed: string[] = []
  for (const step of steps) {
    const script = step.replaceAll(':8080', `:${api}`).replaceAll(':4000', `:${shop}`)
    printed.push(await paste(script))
  }
  const [login = '', pay = '', sees = '', refund = ''] = printed
  assert.match(login, /^\{"items":\[.*"gold_100".*"sword"/)
  assert.equal(pay, '')
  assert.match(sees, /^\{"owned":\[\{"sku":"gold_100",[^}]*"quantity":1/)
  assert.match(
    refund,
    /added +1\n[\s\S]*updated +1\n[\s\S]*^pi_2 +sword[\s\S]*"owned":\[\{"sku":"sword"[^}]*\}\]/m,
  )
  const given = own.lines.filter((line) => line.startsWith('player-1'))
  assert.deepEqual(given, ['player-1 gets 1 gold_100'])

  const forged = await fetch(`http://127.0.0.1:${shop}/webhook`, {
    method: 'POST',
    body: readFileSync(join(cwd, 'event.json')),
    headers: { 'x-signature': '0'.repeat(64) },
  })
  const stranger = await fetch(`http://127.0.0.1:${shop}/login`, { method: 'POST', body: 'x' })
  assert.deepEqual([forged.status, stranger.status], [400, 401])
}

for (const [program, isEmbedded] of [
  ['bash', false],
  ['zsh', true],
  ['dash', true],
] as const) {
  const way = isEmbedded ? 'embedded' : 'over HTTP'
  test(`docs/first-shop.md leads to a shop ${way}, in ${program}`, {
    skip: missing(program),
  }, async (t) => {
    assert.equal(build, 'npm ci && npm run driver && npm run build\n')
    await followPage(t, program, isEmbedded)
  })
}
