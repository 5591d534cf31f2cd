import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseArguments } from '../../cli/arguments.ts'
import { commands } from '../../cli/commands.ts'
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
  const closed = await json(
    'store',
    'update',
    '--store',
    'main',
    '--account',
    account_id,
    ...closing,
  )
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
  const { stdout } = await tillkit([...create, ...game, ...db])
  const { project, ...account } = await tillkitJson([...create, ...game, ...db])

  assert.deepEqual([half.code, half.stdout], [2, ''])
  assert.match(half.stderr, /A first project needs --bundle-id and --platform too/)
  assert.match(wrong.stderr, /^tillkit: --bundle-id must be in reverse-domain form/m)
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

test('purchases are imported from a file and from standard input, each only once', async (t) => {
  const { json, folder, db, ofStore } = await createShopFile(t)
  const file = join(folder, 'purchases.csv')
  const csv = 'transaction_id,sku,purchased_at\nT-1,gold,2026-01-31T12:00:00Z\n'
  writeFileSync(file, csv)
  const dry = await json('purchases', 'import', file, ...ofStore, '--dry-run')
  assert.deepEqual([dry.rows, dry.added, dry.dry_run], [1, 1, true])
  assert.deepEqual((await json('purchases', 'list', ...ofStore)).purchases, [])
  const real = await json('purchases', 'import', file, ...ofStore)
  assert.deepEqual([real.rows, real.added, real.skipped], [1, 1, 0])
  const piped = await tillkit(['purchases', 'import', '-', ...ofStore, '--db', db, '--json'], {
    input: csv,
  })
  assert.deepEqual([piped.code, JSON.parse(piped.stdout).skipped, piped.stderr], [0, 1, ''])
  const { purchases } = await json('purchases', 'list', ...ofStore)
  assert.equal(purchases.length, 1)
  assert.equal(purchases[0].purchased_at, '2026-01-31T12:00:00.000Z')
})

test('a failed import names the bad lines on stderr, or in a problem document with --json', async (t) => {
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

test('the error names all wrong options together and ends with 2', async (t) => {
  const { db, ofStore } = await createShopFile(t)
  const bad = ['--name', 'with space', '--display-name', '', '--price', '4.99', '--type', 'x']
  const { code, stdout, stderr } = await tillkit(['item', 'create', ...ofStore, ...bad, '--db', db])
  assert.deepEqual([code, stdout], [2, ''])
  for (const option of ['name', 'display-name', 'price', 'type']) {
    assert.match(stderr, new RegExp(`^ {2}--${option} must be`, 'm'))
  }
  assert.match(stderr, /^See tillkit item create --help$/m)
})

test('an invalid value ends with 2, a conflict with stored records ends with 1', async (t) => {
  const { db, folder, account_id, project, ofStore } = await createShopFile(t)
  const gold = ['--name', 'gold', '--display-name', 'Gold', '--type', 'consumable']
  const web = ['--account', account_id, '--project', project.id, '--type', 'web']
  const rows: [code: number, args: string[], said: RegExp][] = [
    [2, ['purchases', 'list', ...ofStore, '--limit', '0'], /^tillkit: --limit must be .*\nSee /],
    [2, ['purchases', 'list', ...ofStore, '--status', 'paid'], /--status must be one of/],
    [2, ['purchases', 'list', ...ofStore, '--from', 'monday'], /--from must be a day/],
    [2, ['token', 'issue', '--project', project.id, '--scope', 'all'], /: --scope must be one of/],
    [2, ['project', 'rotate-key', '--project', project.id, '--grace', '1h'], /--grace must be/],
    [2, ['store', 'create', ...web, '--config', '{"currency":"usd"}'], /--config: currency must/],
    [2, ['store', 'create', ...web, '--store', 'a b'], /--store must be/],
    [2, ['purchases', 'import', join(folder, 'none.csv'), ...ofStore], /ENOENT/],
    [2, ['purchases', 'import', '-', ...ofStore, '--map', 'sku'], /--map takes FIELD=COLUMN/],
    [2, ['purchases', 'import', '-', ...ofStore, '--preset', 'amazon'], /--preset must be one of/],
    [2, ['purchases', 'list', '--account', '', '--store', 'main'], /--account ID is empty/],
    [
      1,
      ['purchases', 'list', '--account', 'acc_x', '--store', 'main'],
      /No account has this account_id/,
    ],
    [1, ['item', 'create', ...ofStore, ...gold, '--price', '1'], /--name is taken in this store/],
    [2, ['item', 'update', 'gold', ...ofStore], /Nothing to change: give --display-name, --price/],
    [2, ['item', 'update', 'gold', ...ofStore, '--price', '4.99'], /--price must be .*"499" for/],
    [1, ['item', 'update', 'gem', ...ofStore, '--price', '1'], /No item of this store has this/],
    [1, ['item', 'archive', 'gem', ...ofStore], /No item of this store has this name/],
    [1, ['store', 'create', ...web, '--store', 'main'], /--store is taken in this account/],
    [1, ['item', 'list', '--account', account_id, '--store', 'x'], /names no .*: "x"; it has main/],
    [1, ['item', 'list', '--store', 'mian'], /--store names no .*: "mian"; did you mean main\?/],
    [1, ['purchases', 'list', ...ofStore, '--import', 'imp_x'], /--import names no import into/],
    [1, ['purchases', 'summary', '--import', 'imp_x'], /--import names no import into any/],
  ]
  for (const [code, args, said] of rows) {
    const done = await tillkit([...args, '--db', db])
    assert.deepEqual([done.code, done.stdout], [code, ''], args.join(' '))
    assert.match(done.stderr, said)
  }
})

test('an invalid value creates no database', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const { code } = await tillkit(['serve', '--port', '8O80', '--db', db])
  assert.deepEqual([code, existsSync(db)], [2, false])
})

const wrongUsage: readonly (readonly [args: readonly string[], said: RegExp])[] = [
  [
    ['item', 'create'],
    /: --store ID, --name SKU, --display-name NAME, --price DIGITS and --type T are/,
  ],
  [['purchases', 'import', '--price-unit', 'minor'], /: FILE|- and --store ID are missing/],
  [['itm', 'create'], /There is no command 'itm create': did you mean item create\?/],
  [['purchase', 'import', 'f.csv', '--store', 'x'], /did you mean purchases import\?/],
  [['accounts', 'x'], /There is no command 'accounts x': did you mean account\?/],
  [['frobnicate', '--db', 'x'], /There is no command 'frobnicate'\n/],
  [['-v'], /Unknown option '-v'/],
  [['account'], /Which one of account create, account list, account keys add, /],
  [['account', 'keys'], /Which one of account keys add, account keys list, account keys revoke\?/],
  [['account', 'keys', 'ad'], /did you mean account keys add\?/],
  [['account', 'frobnicate'], /Which one of account create, /],
  [['--db', 'x', 'account', 'list'], /Options come after the command/],
  [['help', 'acount'], /There is no command 'acount'/],
  [['account', 'create'], /--name NAME is missing/],
  [['account', 'create', '--nmae', 'x'], /Unknown option '--nmae': did you mean --name\?/],
  [['account', 'create', '-name', 'x'], /Unknown option '-name': did you mean --name\?/],
  [['account', 'list', '--jsn=1'], /Unknown option '--jsn': did you mean --json\?/],
  [['account', 'create', '--name'], /--name takes a value: NAME\n/],
  [['account', 'create', '--name', '--db'], /--name takes a value: NAME; .* as --name=-…\n/],
  [['account', 'list', '--json=1'], /'--json' does not take an argument/],
  [['backup', 'none/backup.db'], /FILE: .*none: there is no such file or directory/],
  [['account', 'list', 'extra'], /Unexpected argument 'extra'/],
  [['project', 'show'], /--project ID is missing/],
  [['project', 'update', '--project', 'prj_x'], /Nothing to change/],
  [['project', 'update', '--project', 'prj_x', '--config', '{'], /--config is not JSON/],
  [
    ['project', 'update', '--project', 'prj_x', '--config', '@nowhere.json'],
    /--config: nowhere\.json: there is no such file/,
  ],
  [['serve', '--port', 'http'], /--port must be a whole number from 0 to 65535/],
]

for (const [args, said] of wrongUsage) {
  test(`wrong usage ends with 2: tillkit ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await tillkit(args, { env: { TILLKIT_DB: 'memory:' } })
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, said)
  })
}

const wrongAsJson: readonly (readonly [args: readonly string[], said: RegExp])[] = [
  [['itm', 'create', '--json'], /no command/],
  [['--json', 'account', 'list'], /Options come after/],
  [['account', 'create', '--nmae', 'x', '--json'], /--nmae/],
  [['account', 'create', '--json'], /--name NAME is missing/],
  [['project', 'update', '--project', 'prj_x', '--json', '--config', '{'], /not JSON/],
  [['serve', '--port', 'http', '--json'], /--port must be/],
  [['store', 'list', '--project', '', '--json'], /--project ID is empty/],
]

for (const [args, said] of wrongAsJson) {
  test(`wrong usage with --json is a problem document: tillkit ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await tillkit(args, { env: { TILLKIT_DB: 'memory:' } })
    assert.deepEqual([code, stderr], [2, ''])
    const { detail, ...problem } = JSON.parse(stdout)
    assert.match(detail, said)
    assert.deepEqual(problem, {
      type: 'urn:tillkit:error:invalid_request',
      title: 'The request is invalid',
      status: 400,
      code: 'invalid_request',
    })
  })
}

test('an unavailable address is a problem document with --json', async () => {
  const args = ['serve', '--db', 'memory:', '--host', '203.0.113.1', '--port', '0', '--json']
  const { code, stdout, stderr } = await tillkit(args)
  assert.deepEqual([code, stderr], [1, ''])
  assert.match(JSON.parse(stdout).detail, /EADDRNOTAVAIL/)
})

test('copy takes --from and --to, and no --db', async () => {
  assert.doesNotMatch((await tillkit(['copy', '--help'])).stdout, /--db/)
  const { code, stderr } = await tillkit(['copy', '--from', 'a', '--to', 'b', '--db', 'c'])
  assert.deepEqual([code, stderr.split('\n')[0]], [2, "tillkit: Unknown option '--db'"])
})

test('a list fits the terminal with whole ids, and is complete in a pipe', async (t) => {
  const { db, project } = await createShopFile(t)
  const inTerminal = await tillkit(['audit', 'list', '--db', db], { columns: 80 })
  const lines = inTerminal.stdout.trimEnd().split('\n')
  assert.ok(lines.some((line) => line.endsWith(`  project.create  ${project.id}`)))
  assert.equal(lines.at(-1), '(no room for account_id, request_id: see --json)')
  assert.ok(
    lines.every((line) => line.length <= 80),
    inTerminal.stdout,
  )
  const piped = await tillkit(['audit', 'list', '--db', db])
  assert.match(piped.stdout, /^at .* account_id +request_id\n/)
  assert.doesNotMatch(piped.stdout, /…|no room/)
})

test('the environment sets defaults of options, and is validated', async () => {
  const short = await tillkit(['account', 'list'], { env: { TILLKIT_TOKEN_SECRET: 'short' } })
  assert.deepEqual([short.code, /at least 32 bytes/.test(short.stderr)], [2, true])
  const life = await tillkit(['account', 'list'], { env: { TILLKIT_TOKEN_LIFETIME: '59' } })
  assert.deepEqual([life.code, /60 to 86400/.test(life.stderr)], [2, true])
  const platforms = await tillkit(['account', 'list'], { env: { TILLKIT_PLATFORMS: 'web, iso' } })
  assert.equal(platforms.code, 2)
  assert.match(platforms.stderr, /TILLKIT_PLATFORMS must be some of mobile, web, .* adroid/)
  const list = await tillkit(['account', 'list'], { env: { TILLKIT_DB: 'memory:' } })
  assert.deepEqual([list.code, list.stdout], [0, 'none\n'])
})

test('the program and every command have help within 80 columns', async () => {
  const program = await tillkit(['--help'])
  const names = [...program.stdout.matchAll(/^ {2}([a-z]+(?: [a-z-]+){0,2}) {2,}[A-Z]/gm)]
  assert.ok(names.length >= 25)
  assert.ok(program.stdout.split('\n').every((line) => line.length <= 80))
  for (const [, name = ''] of names) {
    const { code, stdout } = await tillkit([...name.split(' '), '--help'])
    assert.deepEqual([code, stdout.includes(`Usage: tillkit ${name}`)], [0, true])
    assert.ok(stdout.split('\n').every((line) => line.length <= 80))
  }
})

test('the help of every command has an example that parses', async () => {
  const split = shellWords(commands.map(({ example = '' }) => example))
  for (const [index, each] of commands.entries()) {
    const name = each.name.split(' ')
    const words = split[index] ?? []
    assert.deepEqual(words.slice(0, 1 + name.length), ['tillkit', ...name])
    parseArguments(each, words.slice(1 + name.length), {})
    const { stdout } = await tillkit([...name, '--help'])
    assert.match(stdout, /\n\nExample:\n {2}\S/)
  }
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

test('a database that cannot be opened is an error of one line', async (t) => {
  const folder = temporaryFolder(t)
  const { code, stderr } = await tillkit(['account', 'list', '--db', folder])
  assert.equal(code, 1)
  assert.match(stderr, /^tillkit: Cannot open the database .*\n$/)
})

test('control characters in a name are escaped', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const { stdout } = await tillkit(['account', 'create', '--name', 'a\x1b[31mb', '--db', db])
  assert.ok(!stdout.includes('\x1b'))
  assert.match(stdout, /a\\u001b\[31mb/)
})
