import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseArguments } from '../../cli/arguments.ts'
import { commands } from '../../cli/commands.ts'
import { createOpenApi } from '../../http/index.ts'
import { tillkit, tillkitJson } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createShopFile } from '../support/served.ts'

test('the CLI creates, shows, changes and lists a project with a store and an item', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const json = (...args: string[]) => tillkitJson([...args, '--db', db])
  const { account_id } = await json('account', 'create', '--name', 'Studio')
  const game = ['--name', 'Game', '--bundle-id', 'com.example.game', '--platform', 'web']
  const project = await json('project', 'create', '--account', account_id, ...game)
  const ofProject = ['--account', account_id, '--project', project.id]
  await json('store', 'create', ...ofProject, '--type', 'web', '--store', 'main')
  const ofStore = ['--account', account_id, '--store', 'main']
  const gold = ['--name', 'gold', '--display-name', 'Gold', '--price', '499']
  const item = await json('item', 'create', ...ofStore, ...gold, '--type', 'consumable')

  assert.match(project.public_key, /^pk_[\w-]{32}$/)
  assert.equal(project.account_id, account_id)
  assert.deepEqual(
    (await json('account', 'list')).map((each: { name: string }) => each.name),
    ['Studio'],
  )
  const changed = await json(
    ...['project', 'update', '--project', project.id, '--status', 'archived'],
    ...['--config', '{"webhook_secret":"s3cret"}'],
  )
  assert.equal(changed.status, 'archived')
  const shown = await json('project', 'show', '--project', project.id)
  assert.deepEqual(shown, { ...project, status: 'archived', config: {} })
  assert.deepEqual(await json('project', 'list', '--account', account_id), [shown])
  const [store] = await json('store', 'list', '--project', project.id)
  assert.deepEqual([store.store_id, store.is_sandbox], ['main', false])
  const closing = ['--sandbox', 'true', '--status', 'archived', '--config', '{"test_mode":true}']
  const closed = await json('store', 'update', ...ofStore, ...closing)
  const archived = { is_sandbox: true, status: 'archived', store_config: { test_mode: true } }
  assert.deepEqual(closed, { ...store, ...archived })
  assert.deepEqual(await json('item', 'list', ...ofStore), [item])
  assert.equal(item.price, 499)
})

test('an account is created together with a first project, and both keys are printed', async (t) => {
  const db = ['--db', join(temporaryFolder(t), 'till.db')]
  const game = ['--project', 'Game', '--bundle-id', 'com.example.game', '--platform', 'ios']
  const create = ['account', 'create', '--name', 'Studio']

  const half = await tillkit([...create, ...game.slice(0, 2), ...db])
  const wrong = await tillkit([...create, ...game, '--bundle-id', 'x', ...db])
  const { stdout } = await tillkit([...create.slice(0, -1), 'a\x1b[31mb', ...game, ...db])
  const { project, ...account } = await tillkitJson([...create, ...game, ...db])

  assert.deepEqual([half.code, half.stdout], [2, ''])
  assert.match(half.stderr, /A first project needs --bundle-id and --platform too/)
  assert.match(wrong.stderr, /^tillkit: --bundle-id must be in reverse-domain form/m)
  assert.match(stdout, /^name +a\\u001b\[31mb$/m)
  assert.match(stdout, /^account_key +ak_.*\n(.*\n)*project_id +prj_.*\npublic_key +pk_[\w-]{32}$/m)
  assert.match(account.account_key, /^ak_/)
  assert.match(project.public_key, /^pk_[\w-]{32}$/)
  assert.equal(project.account_id, account.account_id)
  assert.equal((await tillkitJson(['account', 'list', ...db])).length, 2)
})

test('the CLI changes, archives and restores an item', async (t) => {
  const { json, item, ofStore } = await createShopFile(t)
  const change = ['--price', '599', '--meta', '{"rare":true}', '--description', 'of gold']

  const updated = await json('item', 'update', 'gold', ...ofStore, ...change)
  const texts = { metadata: { rare: true }, description: 'of gold' }
  assert.deepEqual(updated, { ...item, ...texts, price: 599, version: 2 })

  const { archived_at, ...archived } = await json('item', 'archive', 'gold', ...ofStore)
  assert.deepEqual(archived, { ...updated, version: 3 })
  assert.ok(Date.parse(archived_at) > 0)
  assert.deepEqual(await json('item', 'list', ...ofStore), [])
  assert.deepEqual(await json('item', 'list', ...ofStore, '--archived'), [
    { ...archived, archived_at },
  ])
  assert.deepEqual(await json('item', 'show', 'gold', ...ofStore), { ...archived, archived_at })

  const restored = await json('item', 'restore', 'gold', ...ofStore)
  assert.deepEqual(restored, { ...updated, version: 4 })
  assert.deepEqual(await json('item', 'list', ...ofStore), [restored])
  assert.deepEqual(await json('item', 'list', ...ofStore, '--archived'), [])
})

test('a status without effect is stored with a warning', async (t) => {
  const { db, account_id, project } = await createShopFile(t)
  const web = ['--account', account_id, '--project', project.id, '--type', 'web']
  for (const command of [
    ['project', 'update', '--project', project.id],
    ['store', 'create', ...web],
    ['store', 'update', '--store', 'main', '--account', account_id],
  ]) {
    const mistyped = await tillkit([...command, '--status', 'disabeld', '--db', db])
    assert.equal(mistyped.code, 0)
    assert.match(mistyped.stderr, /^warning: the status 'disabeld' has no effect; .*\n$/)
    const { stderr } = await tillkit([...command, '--status', 'disabled', '--db', db])
    assert.equal(stderr, '')
  }
})

test('a failed import from standard input names the bad lines on stderr, or in a problem document with --json', async (t) => {
  const { db, ofStore } = await createShopFile(t)
  const input = 'transaction_id,sku,purchased_at,price\nT-1,silver,2026-01-31T12:00:00Z,4.99\n'
  const args = ['purchases', 'import', '-', ...ofStore, '--db', db]
  const human = await tillkit(args, { input })
  assert.deepEqual([human.code, human.stdout], [1, ''])
  assert.match(human.stderr, /line 2, price must be digits only, in minor units/)
  const machine = await tillkit([...args, '--json'], { input })
  assert.deepEqual([machine.code, machine.stderr], [1, ''])
  const problem = JSON.parse(machine.stdout)
  assert.equal(problem.code, 'invalid_purchases')
  assert.deepEqual(
    problem.errors.map(({ line, column }: { line: number; column: string }) => [line, column]),
    [
      [2, 'sku'],
      [2, 'price'],
    ],
  )
})

test('the program and every command have help within 80 columns, with an example that parses', async () => {
  const program = await tillkit(['--help'])
  const split = shellWords(commands.map(({ example = '' }) => example))
  const texts = [program.stdout]
  for (const [index, each] of commands.entries()) {
    const name = each.name.split(' ')
    const words = split[index] ?? []
    assert.deepEqual(words.slice(0, 1 + name.length), ['tillkit', ...name])
    parseArguments(each, words.slice(1 + name.length), {})
    const { code, stdout } = await tillkit([...name, '--help'])
    assert.equal(code, 0)
    assert.match(stdout, new RegExp(`Usage: tillkit ${each.name}`))
    assert.match(stdout, /\n\nExample:\n {2}\S/)
    assert.match(program.stdout, new RegExp(`^ {2}${each.name} {2,}[A-Z]`, 'm'))
    texts.push(stdout)
  }
  for (const line of texts.join('').split('\n')) assert.ok(line.length <= 80, line)
})

/** The words of each example as a shell splits them, without its redirection and its file. */
function shellWords(examples: readonly string[]): string[][] {
  const lines = examples.map((example) => {
    const words = example.replace(/ >.*/, '').replace('@config.json', '{}')
    return `printf '%s\\n' ${words}; echo END`
  })
  const printed = execFileSync('bash', ['-c', lines.join('\n')], { encoding: 'utf8' })
  return printed.split('END\n').map((words) => words.trimEnd().split('\n'))
}

test('help is printed for every way to ask for it', async () => {
  const rows: [args: string[], said: RegExp][] = [
    [[], /^Usage: tillkit COMMAND/m],
    [['-h'], /^Usage: tillkit COMMAND/m],
    [['help'], /^Usage: tillkit COMMAND/m],
    [['help', 'serve'], /^Usage: tillkit serve/m],
    [['--help', 'account', 'list'], /^Usage: tillkit account list/m],
    [['account', '--db', 'x', '--help'], /^Usage: tillkit account COMMAND/m],
    [['account', 'list', '-h'], /^Usage: tillkit account list/m],
    [['help', 'account', 'keys'], /^Usage: tillkit account keys COMMAND/m],
    [['account', '--help'], /^ {2}account keys revoke {2,}[A-Z]/m],
  ]
  for (const [args, said] of rows) {
    const { code, stdout, stderr } = await tillkit(args)
    assert.deepEqual([code, stderr], [0, ''], args.join(' '))
    assert.match(stdout, said)
  }
})

test('openapi prints the document, or writes it with the URL of a server', async (t) => {
  const out = join(temporaryFolder(t), 'openapi.json')
  const url = 'https://shop.example'
  const printed = await tillkit(['openapi'])
  const written = await tillkit(['openapi', '--url', url, '--out', out])
  assert.deepEqual([printed.code, written.code, written.stdout], [0, 0, ''])
  assert.deepEqual(JSON.parse(printed.stdout), JSON.parse(JSON.stringify(createOpenApi())))
  assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')).servers, [{ url }])
})

test('a command without a server starts without node:http, which would double its time', () => {
  const print = `process.on('exit', () => console.error(JSON.stringify(process.moduleLoadList)))`
  const preload = `data:text/javascript,${encodeURIComponent(print)}`
  const loadsHttp = (command: string) => {
    const main = ['--import', preload, 'dist/cli/main.js', command]
    const { stderr } = spawnSync(process.execPath, main, { encoding: 'utf8' })
    return stderr.includes('"NativeModule http"')
  }
  assert.deepEqual([loadsHttp('openapi'), loadsHttp('--help')], [true, false])
})
