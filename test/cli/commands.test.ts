// run: runtime
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseArguments } from '../../cli/arguments.ts'
import { commands } from '../../cli/commands.ts'
import { tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

interface More {
  readonly env?: NodeJS.ProcessEnv
  readonly input?: string
  /** The text that is typed on a terminal. */
  readonly typed?: string
}

/** An exit code, a command, and what it prints. A name in capitals is a group of an earlier row. */
type Step = readonly [code: number, line: string, said: RegExp, more?: More]

const GAME = '--name Game --bundle-id com.example.game --platform web'
const FIRST = '--project Game --bundle-id com.example.game --platform ios'
const GOLD = '--name gold --display-name Gold --price 499 --type consumable'

const CATALOG: readonly Step[] = [
  [
    2,
    'account create --name A --project G',
    /A first project needs --bundle-id and --platform too/,
  ],
  [
    2,
    `account create --name A ${FIRST} --bundle-id x`,
    /^tillkit: --bundle-id must be in reverse-/,
  ],
  [
    0,
    `account create --name a\x1b[31mb ${FIRST}`,
    /^account_id +(?<account>acc_\w+)\nname +a\\u001b\[31mb\n[\s\S]*^account_key +ak_[\s\S]*^project_id +prj_.*\npublic_key +pk_[\w-]{32}$/m,
  ],
  [0, 'account list', /^ACCOUNT +a\\u001b/m],
  [0, `project create ${GAME}`, /^id +(?<project>prj_\w+)\naccount_id +ACCOUNT\nname +Game$/m],
  [
    0,
    'project update --project PROJECT --status closed',
    /^status +closed$[\s\S]*^warning: the status 'closed' has no effect; /m,
  ],
  [0, 'project update --project PROJECT --config {"webhook_secret":"s"}', /^config +\{\}$/m],
  [
    0,
    'project update --project PROJECT --status active',
    /^(?![\s\S]*warn)[\s\S]*^status +active$/m,
  ],
  [0, 'project show --project PROJECT', /^status +active\n[\s\S]*^config +\{\}$/m],
  [0, 'project list', /^PROJECT .*Game/m],
  [
    0,
    'store create --project PROJECT --type web --store main --status soon',
    /^store_id +main\n[\s\S]*^is_sandbox +false\n[\s\S]*warning: the status 'soon' has no effect; /m,
  ],
  [0, 'store list --project PROJECT', /^main +web +false +soon$/m],
  [
    0,
    'store update --store main --sandbox true --status ok',
    /^is_sandbox +true$[\s\S]*'ok' has no/m,
  ],
  [0, 'store update --store main --status active --config {"currency":"USD"}', /"currency":"USD"/],
  [0, `item create --store main ${GOLD}`, /^price +499$/m],
  [
    0,
    'item update gold --store main --price 599 --meta {"a":1} --description shiny',
    /^description +shiny\nprice +599\n[\s\S]*^metadata +\{"a":1\}\n[\s\S]*^version +2$/m,
  ],
  [0, 'item archive gold --store main', /^version +3\narchived_at +20/m],
  [0, 'item list --store main', /^none\n$/],
  [0, 'item list --store main --archived', /^itm_\w+ +gold +599/m],
  [0, 'item show gold --store main', /^version +3\narchived_at +20/m],
  [0, 'item restore gold --store main', /^version +4$/m],
  [0, 'item list --store main', /^itm_\w+ +gold +599/m],
]

const SALE = 'T-1,gold,2024-01-15T10:00:00Z,ann,123450,'
const HEADER = 'transaction_id,sku,purchased_at,user_id,price,status'
const FILES = {
  'mai.csv': [HEADER, SALE, `${SALE}refunded`, 'T-2,gold,2024-01-15T10:00:00Z,ann,1,'],
  'juni.csv': [HEADER, SALE, 'T-3,gold,2024-01-15T10:00:00Z,bob,1,'],
}
const BAD = `${HEADER}\nT-1,silver,2026-01-31T12:00:00Z,,4.99,\n`
const RECORD =
  'purchases record --store main --transaction-id R-1 --sku gold --user cid --quantity 2 ' +
  '--purchased-at 2024-01-15T10:00:00Z --price 499'
const OWNED = 'purchases owned --store main --user cid'

const IMPORTS: readonly Step[] = [
  [
    1,
    'purchases import - --store main',
    /line 2, price must be digits only, in minor units/,
    { input: BAD },
  ],
  [
    1,
    'purchases import - --store main --json',
    /^\{[\s\S]*"code": "invalid_purchases"/,
    { input: BAD },
  ],
  [0, 'purchases import FOLDER/mai.csv --store main', /^import_id +(?<import>imp_\w+)$/m],
  [0, 'imports list --store main', /mai\.csv/],
  [
    0,
    'imports show IMPORT',
    /^file_name +mai\.csv\n[\s\S]*^Totals of the rows in the file; a purchase and its refund are two rows:\n.*\npurchased +USD +2 +1,234\.51\nrefunded +USD +1 /m,
  ],
  [0, 'purchases list --store main --import IMPORT', /^T-1 /m],
  [
    2,
    'imports undo IMPORT',
    /An undo in the store main \(rows to remove: 2, .*: 1\): confirm it with/,
  ],
  [0, 'purchases import FOLDER/juni.csv --store main', /^skipped +1$/m],
  [1, 'imports undo IMPORT --yes', /1 row of a later [\s\S]*: --force undoes these rows too/],
  ...['', 'y\n', 'no\n'].map((typed): Step => {
    return [1, 'imports undo IMPORT --force', /Type yes to continue: /, { typed }]
  }),
  [0, 'imports undo IMPORT --force', /^removed +2\nrestored +1\n/m, { typed: 'yes\n' }],
  [0, 'imports show IMPORT', /^undone_at +20/m],
  // It printed the counts of the first undo again.
  [0, 'imports undo IMPORT', /^The import is undone already\.\n[\s\S]*^removed +0\nrestored +0\n/m],
  [0, 'purchases import FOLDER/mai.csv --store main', /^added +2$/m],

  [0, `${RECORD} --metadata {"a":1}`, /^outcome +added$[\s\S]*^metadata +\{"a":1\}$/m],
  [0, `${RECORD} --json`, /"outcome": "skipped"[\s\S]*"currency": "USD"/],
  // In all stores of the account.
  [0, 'purchases list --transaction-id R-1', /^store_id +transaction_id.*\nmain +R-1 +gold.*\n$/],
  [0, OWNED, /^gold +consumable +2 +2024-01-15T10:00:00\.000Z +2024-01-15T10:00/m],
  [0, `${RECORD} --status refunded`, /^outcome +updated$/m],
  [0, `${OWNED} --json`, /"owned": \[\]/],

  [0, 'users export ann --project PROJECT', /"user_id":"ann"[\s\S]*"T-1"/],
  [
    0,
    'users export ann --project PROJECT --out FOLDER/ann.json',
    /^Exported the user to FOLDER\/ann/,
  ],
  [2, 'users erase ann --project PROJECT', /confirm it with --yes/],
  ...['', 'y\n', 'bob\n'].map((typed): Step => {
    return [1, 'users erase ann --project PROJECT', /./, { typed }]
  }),
  [
    0,
    'users erase ann --project PROJECT',
    /^pseudonym +erased:.*\npurchases +2\nfound +true\ndeleted +false$/m,
    { typed: 'ann\n' },
  ],
  [
    0,
    'users erase bob --project PROJECT --yes --delete',
    /^purchases +1\nfound +true\ndeleted +true$/m,
  ],
  [
    0,
    'users erase nobody --project PROJECT --yes',
    /Nothing is stored of this user\. Check the id /,
  ],
  [0, 'purchases list --store main', /^(?![\s\S]*(ann|bob))[\s\S]*^T-1 /m],
]

const IN_MAIN = { env: { TILLKIT_ACCOUNT: 'ACCOUNT', TILLKIT_STORE: 'main' } }

const DEFAULTS: readonly Step[] = [
  [0, 'account keys list', /^key_/m], // with one account, no command needs --account
  [0, 'item list', /gold/, { env: { TILLKIT_STORE: 'main' } }],
  [2, 'item list', /--store ID is missing/, { env: { TILLKIT_STORE: '' } }],
  [0, 'account create --name Other', /^account_id +(?<other>acc_\w+)$/m],
  [
    2,
    'item list --store main',
    /--account ID is missing, and there are several: tillkit account l/,
  ],
  [0, 'item list', /gold/, IN_MAIN],
  [1, 'item list --account OTHER', /--store names no/, IN_MAIN],
  // A command that names a project finds its account, and refuses another one.
  ...['store list', 'token issue', 'token revoke', 'project rotate-key'].flatMap((command) => {
    const line = `${command} --project PROJECT`
    const steps: Step[] = [
      [0, line, /\w/],
      [0, `${line} --account ACCOUNT`, /\w/],
      [1, `${line} --account OTHER`, /^tillkit: /],
      [1, line, /^tillkit: /, { env: { TILLKIT_ACCOUNT: 'OTHER' } }],
    ]
    return steps
  }),
]

test('commands in order: the catalog, imports and users, and the defaults of options', async (t) => {
  const folder = temporaryFolder(t)
  for (const [name, lines] of Object.entries(FILES)) {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`)
  }
  const names: { [name: string]: string } = { folder }
  const fill = (text = '') =>
    text.replaceAll(/\b[A-Z]{5,}\b/g, (name) => names[name.toLowerCase()] ?? name)
  for (const [code, line, said, more = {}] of [...CATALOG, ...IMPORTS, ...DEFAULTS]) {
    const env = Object.entries(more.env ?? {}).map(([name, value]) => [name, fill(value)])
    const { typed, input = typed } = more
    const done = await tillkit([...fill(line).split(' '), '--db', join(folder, 'till.db')], {
      env: Object.fromEntries(env),
      ...(input === undefined ? {} : { input }),
      ...(typed === undefined ? {} : { columns: 200 }),
    })
    const printed = `${done.stdout}${done.stderr}`
    assert.equal(done.code, code, `${line}: ${printed}`)
    if (code !== 0 && !line.endsWith('--json')) assert.equal(done.stdout, '', line)
    const found = new RegExp(fill(said.source), said.flags).exec(printed)
    assert.ok(found, `${line} printed ${printed}`)
    Object.assign(names, found.groups)
  }
})

test('the program and every command have help within 80 columns, with an example that parses', async () => {
  const program = await tillkit(['--help'])
  const split = shellWords(commands.map(({ example = '' }) => example))
  const texts = [program.stdout]
  for (const [index, each] of commands.entries()) {
    const name = each.name.split(' ')
    const words = split[index] ?? []
    assert.deepEqual(words.slice(0, 1 + name.length), ['tillkit', ...name])
    const env = { TILLKIT_ACCOUNT_KEY: 'ak_1' }
    assert.deepEqual(parseArguments(each, words.slice(1 + name.length), env).exposed, [])
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

test('a help text starts without node:http and node:crypto, which would double its time', () => {
  const print = `process.on('exit', () => console.error(JSON.stringify(process.moduleLoadList)))`
  const preload = `data:text/javascript,${encodeURIComponent(print)}`
  const loaded = (command: string) => {
    const main = ['--import', preload, 'dist/cli/main.js', command]
    const { stderr } = spawnSync(process.execPath, main, { encoding: 'utf8' })
    return ['http', 'crypto'].filter((name) => stderr.includes(`"NativeModule ${name}"`))
  }
  assert.deepEqual([loaded('openapi'), loaded('--help')], [['http', 'crypto'], []])
})
