import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createShopFile } from '../support/served.ts'

const CONFORMANCE = 'conformance --public-key p --account-key a --url'
const URL_OF_NONE = 'mysql://till:s3cret@db.example/till'
const NONE = /^tillkit: mysql:\/\/… is no database: use a file, postgres:\/\/… or memory:\n/
/** Command lines that end with 2 before a database is opened. */
const wrongUsage: readonly (readonly [line: string, said: RegExp])[] = [
  ['item create', /: --store ID, --name SKU, --display-name NAME, --price DIGITS and --type T are/],
  ['purchases import --price-unit minor', /: FILE|- and --store ID are missing/],
  ['itm create', /There is no command 'itm create': did you mean item create\?/],
  ['purchase import f.csv --store x', /did you mean purchases import\?/],
  ['accounts x', /There is no command 'accounts x': did you mean account\?/],
  ['frobnicate --db x', /There is no command 'frobnicate'\n/],
  ['tokens', /There is no command 'tokens': did you mean token\?\nSee tillkit --help\n/],
  ['-v', /Unknown option '-v'/],
  ['account', /Which one of account create, account list, account keys add, /],
  ['account keys', /Which one of account keys add, account keys update, account keys list, /],
  ['account frobnicate', /Which one of account create, /],
  ['--db x account list', /Options come after the command/],
  ['help acount', /There is no command 'acount'/],
  ['account create', /--name NAME is missing/],
  ['account create --nmae x', /Unknown option '--nmae': did you mean --name\?/],
  ['account create -name x', /Unknown option '-name': did you mean --name\?/],
  ['account create --name', /--name takes a value: NAME\n/],
  ['account create --name --db', /--name takes a value: NAME; .* as --name=-…\n/],
  ['account list --json=1', /'--json' does not take an argument/],
  [
    'account keys revoke --account a',
    /KEY_ID is missing\nSee tillkit account keys revoke --help\n/,
  ],
  ['backup', /FILE is missing/],
  ['backup none/backup.db', /FILE: .*none: there is no such file or directory/],
  ['copy --from a --to b --db c', /^tillkit: Unknown option '--db'\n/],
  ['account list extra', /Unexpected argument 'extra'/],
  [`account list --db ${URL_OF_NONE}`, NONE],
  [`copy --from ${URL_OF_NONE} --to memory:`, NONE],
  [`copy --from memory: --to ${URL_OF_NONE}`, NONE],
  ['project list', /There is no account: tillkit account create --name NAME\n/],
  ['project show', /--project ID is missing\nSee tillkit project show --help\n/],
  ['project update --project prj_x', /Nothing to change/],
  ['project update --project prj_x --config {', /--config is not JSON/],
  ['project update --project p --config @none.json', /--config: none\.json: there is no such file/],
  ['project rotate-key --project p --grace 1h', /--grace must be a whole number/],
  ['token issue --project p --lifetime -1', /tillkit token issue --help/],
  ['token issue --project p --lifetime 1e3', /--lifetime must be a whole number/],
  ['completion tcsh', /The shell 'tcsh' must be bash, zsh or fish\n/],
  [`${CONFORMANCE} shop.example`, /--url must be a URL that begins with http:\/\/ or https:\/\//],
  [`${CONFORMANCE} http://a:b@shop.example`, /--url must have no user, query or fragment/],
  [`${CONFORMANCE} http://a --only 11`, /--only must be a whole number from 1 to 10/],
  [`${CONFORMANCE} http://a --public-key \u00e9`, /--public-key must have/],
  ['openapi --url shop.example', /--url must be a URL that begins with http/],
  ['serve --port http', /--port must be a whole number from 0 to 65535/],
  [
    'serve --cors-origin shop.example',
    /--cors-origin, TILLKIT_CORS_ORIGIN: 'shop\.example' is no origin/,
  ],
  ['serve --rate-limit 1.5', /--rate-limit must be/],
  ['serve --rate-limit-address many', /--rate-limit-address must be/],
  ['serve --account-share 101', /--account-share must be/],
  ['serve --drain-delay 5s', /--drain-delay must be/],
  ['serve --trust-proxy 21', /--trust-proxy must be a whole number/],
  ['serve --log some', /--log must be debug, all, errors or off/],
  ['serve --workers 65', /--workers must be a whole number from 1 to 64/],
  ['serve --workers 2', /Workers share a database file/],
]
for (const [line, said] of wrongUsage) {
  test(`wrong usage ends with 2: tillkit ${line}`, async () => {
    const { code, stdout, stderr } = await tillkit(line.split(' '), {
      env: { TILLKIT_DB: 'memory:' },
    })
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, said)
    assert.doesNotMatch(stderr, /\n {4}at /)
  })
}

const KEY = 'c7'.repeat(32)
/** Settings of the environment that every command refuses. */
const wrongSettings: readonly (readonly [env: NodeJS.ProcessEnv, said: RegExp])[] = [
  [{ TILLKIT_TOKEN_SECRET: 'short-secret' }, /at least 32 bytes/],
  [{ TILLKIT_TOKEN_LIFETIME: '0000000059' }, /60 to 86400/],
  [{ TILLKIT_PLATFORMS: 'web, iso' }, /TILLKIT_PLATFORMS must be some of mobile, web, .* adroid/],
  [
    { TILLKIT_QUOTA_PURCHASES: '1000000000' },
    /TILLKIT_QUOTA_PURCHASES must be a whole number from 0 to 999999999\n/,
  ],
  [{ TILLKIT_LOCKDOWN: 'yes' }, /TILLKIT_LOCKDOWN must be on or off/],
  ...[',', '0', '5,', 'soon', '5,9999999'].map((retries): [NodeJS.ProcessEnv, RegExp] => [
    { TILLKIT_WEBHOOK_RETRIES: retries },
    /TILLKIT_WEBHOOK_RETRIES must be a whole number from 1 to 2592000/,
  ]),
  [{ TILLKIT_MASTER_KEY: KEY.slice(1) }, /^tillkit: TILLKIT_MASTER_KEY/],
  [{ TILLKIT_MASTER_KEY: `${KEY}0` }, /^tillkit: TILLKIT_MASTER_KEY/],
  [{ TILLKIT_MASTER_KEY: `${KEY.slice(1)}!` }, /^tillkit: TILLKIT_MASTER_KEY/],
  [{ TILLKIT_MASTER_KEY_PREVIOUS: KEY }, /^tillkit: TILLKIT_MASTER_KEY/],
  [
    { TILLKIT_MASTER_KEY: KEY, TILLKIT_MASTER_KEY_PREVIOUS: `${KEY},oops` },
    /^tillkit: TILLKIT_MASTER_KEY/,
  ],
]
for (const [env, said] of wrongSettings) {
  test(`a wrong setting ends with 2, and no secret is printed: ${JSON.stringify(env)}`, async () => {
    const { code, stdout, stderr } = await tillkit(['check', '--db', 'memory:'], { env })
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, said)
    for (const value of Object.values(env)) {
      assert.ok(!value || value.length < 10 || !stderr.includes(value.slice(-10)))
    }
  })
}

const wrongAsJson: readonly (readonly [line: string, said: RegExp])[] = [
  ['itm create --json', /no command/],
  ['project update --project prj_x --json --config {', /not JSON/],
  ['serve --port http --json', /--port must be/],
]
for (const [line, said] of wrongAsJson) {
  test(`wrong usage with --json is a problem document: tillkit ${line}`, async () => {
    const env = { TILLKIT_DB: 'memory:' }
    const { code, stdout, stderr } = await tillkit(line.split(' '), { env })
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

/** Command lines on a shop: an invalid value ends with 2, a conflict with stored records with 1. */
const refused: readonly (readonly [code: number, line: string, said: RegExp])[] = [
  [2, 'purchases list --store main --limit 0', /^tillkit: --limit must be .*\nSee tillkit pu/],
  [2, 'purchases list --store main --status paid', /--status must be one of/],
  [2, 'purchases list --store main --from monday', /--from must be a day/],
  [2, 'purchases list', /--store is required/],
  [2, 'purchases list --account= --store main', /--account ID is empty/],
  [1, 'purchases list --account acc_x --store main', /No account has this account_id/],
  [1, 'purchases list --store main --import imp_x', /--import names no import into/],
  [1, 'purchases summary --import imp_x', /--import names no import into any/],
  [2, 'purchases summary --by year', /--by must be one of store, day, week, month/],
  [2, 'purchases import none.csv --store main', /ENOENT/],
  [2, 'purchases import - --store main --map sku', /--map takes FIELD=COLUMN/],
  [2, 'purchases import - --store main --map colour=x', /--map must map some of transaction_id/],
  [2, 'purchases import - --store main --preset steam', /--preset must be one of google_play_sal/],
  [2, 'purchases import - --store main --price-unit cents', /--price-unit must be one of minor, /],
  [2, 'purchases import - --store main --report x.csv', /--report needs a file/],
  [2, 'purchases import - --store main --layout none', /--layout: none: there is no such file/],
  [2, 'token issue --project PROJECT --scope all', /: --scope must be one of/],
  [2, 'token issue --project PROJECT --lifetime 59', /^tillkit: --lifetime must be .*\nSee /],
  [2, 'token revoke --project PROJECT --user=', /^tillkit: --user ID is empty\nSee /],
  [2, 'project rotate-key --project PROJECT --grace 2592001', /^tillkit: --grace must be/],
  [
    2,
    'store create --project PROJECT --type web --config {"currency":"usd"}',
    /--config: currency/,
  ],
  [2, 'store create --project PROJECT --type web --store a/b', /--store must be/],
  [1, 'store create --project PROJECT --type web --store main', /--store is taken in this acc/],
  [
    1,
    'item create --store main --name gold --display-name Gold --type consumable --price 1',
    /--name is taken in this store/,
  ],
  [2, 'item update gold --store main', /Nothing to change: give --display-name, --price/],
  [2, 'item update gold --store main --price 4.99', /--price must be .*"499" for/],
  [1, 'item update gem --store main --price 1', /No item of this store has this/],
  [1, 'item archive gem --store main', /No item of this store has this name/],
  [1, 'item list --store x', /names no .*: "x"; it has main/],
  [1, 'item list --store mian', /--store names no .*: "mian"; did you mean main\?/],
  [1, 'imports show imp_none', /No import has this id/],
  [1, 'imports undo imp_none', /No import has this id/],
  [2, 'audit list --limit 0', /--limit must be/],
  [1, 'audit list --account acc_nobody', /No account has this account_id/],
  [2, 'catalog plan none.json', /none\.json: there is no such file or directory \(ENOENT\)/],
  [2, 'webhooks replay PROJECT', /^tillkit: Give --from or --since, and not both$/m],
  [1, 'webhooks test prj_unknown', /No webhook endpoint has this id/],
]

test('an invalid value ends with 2, a conflict with stored records ends with 1', async (t) => {
  const { run, project_id } = await createShopFile(t)
  for (const [code, line, said] of refused) {
    const done = await run(...line.replace('PROJECT', project_id).split(' '))
    assert.deepEqual([done.code, done.stdout], [code, ''], line)
    assert.match(done.stderr, said)
  }
})

test('the error names all wrong options together and ends with 2', async (t) => {
  const { run, ofStore } = await createShopFile(t)
  const bad = ['--name', 'with space', '--display-name', '', '--price', '4.99', '--type', 'x']
  const { code, stdout, stderr } = await run('item', 'create', ...ofStore, ...bad)
  assert.deepEqual([code, stdout], [2, ''])
  for (const option of ['name', 'display-name', 'price', 'type']) {
    assert.match(stderr, new RegExp(`^ {2}--${option} must be`, 'm'))
  }
  assert.match(stderr, /^See tillkit item create --help$/m)
  const csv = await run('purchases', 'export', ...ofStore, '--json')
  assert.deepEqual([csv.code, /writes CSV/.test(JSON.parse(csv.stdout).detail)], [2, true])
})

test('an invalid value creates no database', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const { code } = await tillkit(['serve', '--port', '8O80', '--db', db])
  assert.deepEqual([code, existsSync(db)], [2, false])
})
