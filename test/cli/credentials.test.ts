import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Command } from '../../cli/command.ts'
import { commands } from '../../cli/commands.ts'
import type { AuditEntry } from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { logOfServe, tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createShopFile } from '../support/served.ts'
import { createClient, type Parts } from '../support/server.ts'

const AUTH = '/api/v1/identity/auth'
const KEY = randomBytes(32).toString('hex')

/** A shop with a server on its database. */
async function start(t: TestContext, args?: string[], env?: NodeJS.ProcessEnv) {
  const file = await createShopFile(t)
  const { url } = await file.serveHere(args, env)
  return { ...file, send: createClient(url) }
}

test('a running server accepts new keys and tokens, and refuses revoked ones at once', async (t) => {
  const shop = await start(t)
  const { json, send, db, account, account_id, account_key, project_id, public_key } = shop
  const { key_id } = account
  const statusOf = async (line: string, parts: Parts) => (await send(line, parts)).status
  const create = (account_key: string) => statusOf('POST /api/v1/items', { account_key, json: {} })
  const list = (token: string) => statusOf('GET /api/v1/items?store_id=main', { token })
  const init = (public_key: string) =>
    statusOf(`POST ${AUTH}/init`, { public_key, json: { user_id: 'ann' } })

  const added = await json('account', 'keys', 'add', '--account', account_id, '--name', 'api')
  assert.deepEqual([await create(account_key), await create(added.account_key)], [400, 400])
  const revoked = await json('account', 'keys', 'revoke', key_id, '--account', account_id)
  assert.deepEqual(revoked, { account_id, key_id, revoked: true })
  assert.deepEqual([await create(account_key), await create(added.account_key)], [401, 400])
  const { keys } = await json('account', 'keys', 'list', '--account', account_id)
  assert.deepEqual([typeof keys[0].revoked_at, keys[1].name], ['string', 'api'])

  const ofProject = ['--project', project_id]
  const next = await json('project', 'rotate-key', ...ofProject, '--grace', '0')
  assert.deepEqual(Object.keys(next), ['id', 'public_key'])
  assert.deepEqual([await init(public_key), await init(next.public_key)], [400, 200])

  const issue = async (...args: string[]) => json('token', 'issue', ...ofProject, ...args)
  const { token: ann, expires_in_seconds } = await issue('--user', 'ann', '--lifetime', '60')
  const { token: bob } = await issue('--user', 'bob')
  assert.equal(expires_in_seconds, 60)
  assert.deepEqual([await list(ann), await list(bob)], [200, 200])
  const user = await json('token', 'revoke', ...ofProject, '--user', 'ann')
  assert.deepEqual(user, { project_id, user_id: 'ann', revoked: true })
  assert.deepEqual([await list(ann), await list(bob)], [401, 200])

  const [first] = (await json('keys', 'list')).keys
  assert.deepEqual(Object.keys(first), ['kid', 'created_at'])
  const { kid, dropped } = await json('keys', 'rotate')
  assert.deepEqual(dropped, [])
  assert.equal((await json('keys', 'list')).keys[1].kid, kid)
  assert.deepEqual((await json('keys', 'rotate', '--drop-others')).dropped, [first.kid, kid])
  const env = { TILLKIT_TOKEN_SECRET: 'a secret of the operator, 32 bytes and more' }
  assert.equal((await tillkit(['keys', 'rotate', '--db', db], { env })).code, 1)
})

test('in lockdown the token of a client only reads items, an issued token has its scopes', async (t) => {
  const { json, send, project_id: id, public_key } = await start(t, ['--lockdown'])
  const got = await send(`GET ${AUTH}/access-token`, { public_key })
  const { access_token } = got.json<{ access_token: string }>()
  const statuses = async (token: string) => {
    const rename = await send('PUT /api/v1/projects', { token, json: { id, name: 'New' } })
    const list = await send('GET /api/v1/items?store_id=main', { token })
    return [rename.status, list.status]
  }
  assert.deepEqual(await statuses(access_token), [401, 200])
  const { token } = await json('token', 'issue', '--project', id, '--scope', 'projects:write')
  assert.deepEqual(await statuses(token), [200, 401])
})

describe('a server logs one startup warning for each insecure setting', () => {
  const safe = { TILLKIT_MASTER_KEY: KEY, TILLKIT_LOCKDOWN: 'on' }
  const cases: [string, string[], NodeJS.ProcessEnv, RegExp[]][] = [
    ['by default', [], {}, [/--lockdown/, /TILLKIT_MASTER_KEY/]],
    ['with all settings', ['--lockdown'], { TILLKIT_MASTER_KEY: KEY }, []],
    ['with all settings in the environment', [], safe, []],
    [
      'on all addresses',
      ['--host', '0.0.0.0'],
      safe,
      [/^0\.0\.0\.0 is no loopback address: .*TLS/],
    ],
  ]
  for (const [what, args, env, expected] of cases) {
    test(what, async (t) => {
      const free = ['--port', '0', '--no-webhooks', '--db', 'memory:']
      const entries = await logOfServe(t, [...free, ...args], env)
      const warnings = entries.filter(({ level }) => level === 'warn')
      assert.equal(warnings.length, expected.length, JSON.stringify(entries))
      for (const [index, said] of expected.entries()) assert.match(warnings[index]?.message, said)
    })
  }
})

test('a server without the master key of its database says that it refuses secrets, and does', async (t) => {
  const { db, folder, run, ofProject } = await createShopFile(t)
  const args = ['--port', '0', '--no-webhooks', '--lockdown', '--db', db]
  await logOfServe(t, args, { TILLKIT_MASTER_KEY: KEY })

  const messages = (await logOfServe(t, args)).map(({ message }) => message)

  const reason =
    'This database stores secrets only with its master key, and TILLKIT_MASTER_KEY is not set'
  assert.ok(messages.includes(`Writes of secrets are refused. ${reason}`), messages.join('\n'))
  assert.ok(!messages.some((each) => /unencrypted/.test(each)))
  const config = join(folder, 'config.json')
  writeFileSync(config, '{"webhook_secret":"whs_1"}')
  const refused = await run('project', 'update', ...ofProject, '--config', `@${config}`)
  assert.deepEqual([refused.code, refused.stderr.includes(reason)], [1, true])
})

describe('a secret in an option is warned of, and one in a variable or file is not', () => {
  const safe = 'postgres://till@127.0.0.1:1/till?x=a:b@c'
  const url = 'postgres://till:s3cret@127.0.0.1:1/till'
  const variables = 'use TILLKIT_DB or PGPASSWORD'
  const update = ['project', 'update', '--project', 'p', '--db', 'memory:', '--config']
  const check = ['conformance', '--url', 'http://127.0.0.1:1', '--public-key', 'pk_1']
  const cases: [string[], NodeJS.ProcessEnv, string?][] = [
    [
      ['check', '--db', url],
      {},
      `--db shows the password to other users of this machine: ${variables}`,
    ],
    [['check'], { TILLKIT_DB: url }],
    [['check', '--db', safe], {}],
    [
      ['copy', '--from', url, '--to', 'memory:'],
      {},
      `--from shows the password to other users of this machine: ${variables}`,
    ],
    [['copy', '--to', 'memory:'], { TILLKIT_DB: url }],
    [
      ['copy', '--from', 'memory:', '--to', url],
      {},
      '--to shows the password to other users of this machine: use PGPASSWORD',
    ],
    [
      [...update, '{"webhook_secret": "s3cret"}'],
      {},
      '--config shows a secret to other users of this machine: use @FILE',
    ],
    [[...update, '{"webhook_secret": null, "webhook_url": "https://shop.example"}'], {}],
    [
      [...check, '--account-key', 's3cret'],
      {},
      '--account-key shows the key to other users of this machine: use TILLKIT_ACCOUNT_KEY',
    ],
    [check, { TILLKIT_ACCOUNT_KEY: 's3cret' }],
  ]
  for (const [args, env, warning] of cases) {
    test([...args, ...Object.keys(env)].join(' '), async () => {
      const { stderr } = await tillkit(args, { env })
      const warnings = stderr.split('\n').filter((line) => line.startsWith('warning: '))
      assert.deepEqual(warnings, warning === undefined ? [] : [`warning: ${warning}`])
      assert.ok(!stderr.includes('s3cret'), stderr)
    })
  }
})

test('a master key may be in hexadecimal or base64, and a newer one seals the secrets anew', async (t) => {
  const { db, folder, json, ofProject, project_id } = await createShopFile(t)
  const config = join(folder, 'config.json')
  writeFileSync(config, '{"webhook_secret":"whs_1"}')
  const update = ['project', 'update', ...ofProject, '--config', `@${config}`]
  await json(...update)
  const env = { TILLKIT_MASTER_KEY: KEY }
  const serving = await logOfServe(t, ['--port', '0', '--lockdown', '--db', db], env)
  const warning = `Secrets are stored unencrypted: webhook_secret of ${project_id}; see tillkit secrets seal --db ${db}`
  assert.ok(serving.some(({ message }) => message === warning))
  const bytes = Buffer.from(KEY, 'hex')
  const other = randomBytes(32).toString('base64url')
  const moved = { TILLKIT_MASTER_KEY: other, TILLKIT_MASTER_KEY_PREVIOUS: `${KEY}, ${KEY}` }
  const steps: readonly [code: number, env: NodeJS.ProcessEnv, said: RegExp][] = [
    [0, env, /sealed +1\n/],
    ...[bytes.toString('base64'), bytes.toString('base64url'), KEY.toUpperCase()].map(
      (same): [number, NodeJS.ProcessEnv, RegExp] => [
        0,
        { TILLKIT_MASTER_KEY: same },
        /sealed +0\nunreadable +0\n/,
      ],
    ),
    [
      1,
      { TILLKIT_MASTER_KEY: other },
      /unreadable +1\n[\s\S]*tillkit: .*no master key that is set.*secrets drop --db \S+\n$/,
    ],
    [0, moved, /sealed +1\n/],
    [2, {}, /TILLKIT_MASTER_KEY is not set/],
  ]
  for (const [code, env, said] of steps) {
    const sealed = await tillkit(['secrets', 'seal', '--db', db], { env })
    assert.equal(sealed.code, code)
    assert.match(sealed.stdout + sealed.stderr, said)
  }
  for (const env of [{}, { TILLKIT_MASTER_KEY: KEY }]) {
    for (const args of [update, ['serve', '--port', '0']]) {
      const { code, stderr } = await tillkit([...args, '--db', db], { env })
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^tillkit: No master key in TILLKIT_MASTER_KEY opens the webhook_secret of prj_\w+\nIf the key is lost, see tillkit secrets drop --help\n$/,
      )
    }
  }
})

test('secrets of a lost master key are listed, and dropped after a confirmation', async (t) => {
  const { db, project_id, account_id, ofProject } = await createShopFile(t)
  const secret = ['--config', '{"webhook_secret":"whs_lost"}']
  const ofKey = (key: string, ...args: string[]) =>
    tillkit([...args, '--db', db], { env: { TILLKIT_MASTER_KEY: key } })
  const store = ['store', 'create', ...ofProject, '--type', 'web', '--store', 'lost']
  for (const args of [['project', 'update', ...ofProject], store]) {
    assert.equal((await ofKey(KEY, ...args, ...secret)).code, 0)
  }
  const fresh = randomBytes(32).toString('hex')

  for (const wrong of [[], ['--confirm', '1']]) {
    const shown = await ofKey(fresh, 'secrets', 'drop', ...wrong)
    assert.equal(shown.code, 1)
    for (const place of [project_id, `${project_id} +lost`]) {
      assert.match(shown.stdout, new RegExp(`^${place} +webhook_secret +${account_id}$`, 'm'))
    }
    assert.match(shown.stderr, /^tillkit: Nothing was dropped.* --confirm 2 drops/)
    assert.equal(`${shown.stdout}${shown.stderr}`.includes('whs_lost'), false)
  }
  const none = await tillkit(['secrets', 'drop', '--confirm', '2', '--db', db])
  assert.deepEqual([none.code, none.stdout], [2, ''])
  const readable = await ofKey(KEY, 'secrets', 'drop', '--confirm', '2')
  assert.deepEqual([readable.code, readable.stdout], [0, 'none\n'])
  const dropped = await ofKey(fresh, 'secrets', 'drop', '--confirm', '2', '--json')
  assert.deepEqual([dropped.code, JSON.parse(dropped.stdout).dropped], [0, true])
  assert.equal(JSON.parse(dropped.stdout).secrets.length, 2)
})

/** A command line with all required options, on a database. */
function argumentsOf(command: Command, db: string) {
  const { name, operand, options, databaseOption = 'db', needsDatabaseFor } = command
  const values: Record<string, string> = { to: 'memory:', before: '2024-01-01', out: `${db}.out` }
  const required = Object.entries(options).filter(
    ([option, spec]) => spec.required || option === needsDatabaseFor,
  )
  const given = required.flatMap(([option, { choices = ['x'] }]) =>
    option === databaseOption ? [] : [`--${option}`, values[option] ?? choices[0] ?? ''],
  )
  return [...name.split(' '), ...(operand ? ['x'] : []), ...given, `--${databaseOption}`, db]
}

describe('maintenance of a database', () => {
  test('the audit log is listed in pages', async (t) => {
    const { json, run, project_id } = await createShopFile(t)
    const all: AuditEntry[] = (await json('audit', 'list')).entries
    assert.deepEqual([all.length, all[1]?.subject], [4, project_id])
    const page = await run('audit', 'list', '--limit', '3')
    const cursor = /There are more: --cursor (\d+)\n$/.exec(page.stderr)?.[1] ?? ''
    assert.deepEqual((await json('audit', 'list', '--cursor', cursor)).entries, all.slice(3))
  })

  test('a backup is written while a server runs, and is a complete database', async (t) => {
    const { json, run, folder, project } = await start(t)
    const copy = join(folder, 'copy.db')

    assert.deepEqual(await json('backup', copy), { backup: copy })
    const { stdout } = await run('backup', join(folder, 'second.db'))
    assert.match(
      stdout,
      /To restore it: stop the servers, move \S*till\.db, \S*-wal, \S*-shm away \(if they exist\), copy/,
    )
    const show = ['project', 'show', '--project', project.id]
    const restored = await tillkit([...show, '--db', copy, '--json'])
    assert.deepEqual(JSON.parse(restored.stdout), project)
    assert.equal((await tillkit(['check', '--db', copy])).stdout, 'The database is sound\n')
    const again = await tillkit(['backup', copy, '--db', join(folder, 'till.db')])
    assert.equal(again.code, 2)
    assert.match(again.stderr, /FILE .* would overwrite a database\n/)
    const memory = await tillkit(['backup', join(folder, 'none.db'), '--db', 'memory:'])
    assert.equal(memory.code, 1)
    assert.equal(existsSync(join(folder, 'none.db')), false)
  })

  test('a check prints that the database is sound, or lists problems and ends with 1', async (t) => {
    const { json, db } = await createShopFile(t)
    assert.deepEqual(await json('check'), { sound: true, problems: [] })
    const driver = await openSqliteDriver(db)
    driver.exec("PRAGMA foreign_keys = OFF; UPDATE projects SET account_id = 'acc_nobody'")
    driver.close()

    const human = await tillkit(['check', '--db', db])
    const machine = await tillkit(['check', '--db', db, '--json'])

    const problem = 'row 1 of projects names a missing row of accounts'
    assert.deepEqual([human.code, human.stdout], [1, ''])
    assert.match(human.stderr, new RegExp(`^tillkit: Not sound:\n {2}${problem}\n`))
    assert.equal(machine.code, 1)
    const { sound, problems } = JSON.parse(machine.stdout)
    assert.deepEqual([sound, problems[0]], [false, problem])
  })

  test('no command but serve and account create makes a database of a mistyped path or a file without tables', async (t) => {
    const folder = temporaryFolder(t)
    const [missing, empty] = [join(folder, 'mistyped.db'), join(folder, 'empty.db')]
    const begun = join(folder, 'begun.db')
    writeFileSync(empty, '')
    const driver = openSqliteDriver(begun)
    driver.exec('PRAGMA journal_mode = WAL')
    driver.close()
    const bytes = readFileSync(begun)
    const others = commands.filter(({ needsNoDatabase }) => !needsNoDatabase)
    const makers = others.filter(({ makesDatabase }) => makesDatabase).map(({ name }) => name)
    assert.deepEqual(makers, ['serve', 'account create'])
    for (const [db, reason] of [
      [missing, 'there is no such file'],
      [empty, 'it has no tables'],
      [begun, 'it has no tables'],
    ] as const) {
      for (const command of others.filter(({ makesDatabase }) => !makesDatabase)) {
        const args = argumentsOf(command, db)
        const { code, stdout, stderr } = await tillkit(args)
        assert.deepEqual([code, stdout], [1, ''], `${args.join(' ')}: ${stderr}`)
        assert.equal(stderr, `tillkit: Cannot open the database ${db}: ${reason}\n`)
      }
    }
    assert.deepEqual(readdirSync(folder), ['begun.db', 'empty.db'])
    assert.deepEqual([statSync(empty).size, readFileSync(begun)], [0, bytes])
  })

  test('a command that fails leaves no new database behind', async (t) => {
    const folder = temporaryFolder(t)
    const db = join(folder, 'new.db')
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    for (const [code, ...args] of [
      [2, 'account', 'create', '--name', 'Studio', '--project', 'Game'],
      [2, 'account', 'create', '--name', ''],
      [1, 'serve', '--port', `${port}`],
      [1, 'serve', '--port', `${port}`, '--demo'],
    ] as const) {
      const env = { TILLKIT_MASTER_KEY: KEY }
      const failed = await tillkit([...args, '--db', db], { env })
      assert.equal(failed.code, code, failed.stderr)
      assert.deepEqual(readdirSync(folder), [], args.join(' '))
    }
  })
})
