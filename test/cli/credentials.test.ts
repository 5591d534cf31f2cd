import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { AuditEntry } from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { logOfServe, tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createShopFile } from '../support/served.ts'
import { createClient } from '../support/server.ts'

const AUTH = '/api/v1/identity/auth'
const KEY = randomBytes(32).toString('hex')

/** A shop with a server on its database. */
async function start(t: TestContext, args?: string[], env?: NodeJS.ProcessEnv) {
  const file = await createShopFile(t)
  const { url } = await file.serveHere(args, env)
  return { ...file, send: createClient(url) }
}

describe('keys and tokens while a server runs', () => {
  test('the server accepts a new account key and rejects a revoked one at once', async (t) => {
    const { json, send, account, account_id, account_key } = await start(t)
    const { key_id } = account
    const added = await json('account', 'keys', 'add', '--account', account_id, '--name', 'api')
    assert.match(added.account_key, /^ak_[\w-]{43}$/)
    const create = (key: string, name: string) => {
      const item = { store_id: 'main', name, display_name: 'x', price: '1', type: 'consumable' }
      return send('POST /api/v1/items', { account_key: key, json: item })
    }
    assert.equal((await create(account_key, 'a')).status, 200)
    assert.equal((await create(added.account_key, 'b')).status, 200)

    const revoked = await json('account', 'keys', 'revoke', key_id, '--account', account_id)

    assert.deepEqual(revoked, { account_id, key_id, revoked: true })
    assert.equal((await create(account_key, 'c')).status, 401)
    assert.equal((await create(added.account_key, 'd')).status, 200)
    const listed = await json('account', 'keys', 'list', '--account', account_id)
    const actual = listed.map((each: { key_id: string; name?: string; revoked_at?: string }) => [
      each.key_id,
      each.name,
      typeof each.revoked_at,
    ])
    assert.deepEqual(actual, [
      [key_id, undefined, 'string'],
      [added.key_id, 'api', 'undefined'],
    ])
    assert.ok(!JSON.stringify(listed).includes('hash'))
  })

  test('a previous public key opens sessions only during its grace period', async (t) => {
    const { json, send, project } = await start(t)
    const rotate = (...grace: string[]) =>
      json('project', 'rotate-key', '--project', project.id, ...grace)
    const init = (public_key: string) =>
      send(`POST ${AUTH}/init`, { public_key, json: { user_id: 'ann', public_key } })

    const second = await rotate()
    assert.deepEqual(Object.keys(second), ['id', 'public_key'])
    for (const { public_key } of [project, second]) {
      const reply = await init(public_key)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.text.includes('pk_'), false)
    }

    const third = await rotate('--grace', '0')
    for (const { public_key } of [project, second]) {
      assert.equal((await init(public_key)).status, 400)
    }
    assert.equal((await init(third.public_key)).status, 200)
  })

  test('in lockdown the token of a client only reads items, an issued token has its scopes', async (t) => {
    const { json, send, project } = await start(t, ['--lockdown'])
    const { public_key, id } = project
    const got = await send(`GET ${AUTH}/access-token`, { public_key })
    const { access_token } = got.json<{ access_token: string }>()
    const list = (token: string) => send('GET /api/v1/items?store_id=main', { token })
    const rename = (token: string) =>
      send('PUT /api/v1/projects', { token, json: { id, name: 'New' } })

    assert.equal((await list(access_token)).status, 200)
    const refused = await rename(access_token)
    assert.equal(refused.status, 401)
    assert.match(refused.headers.get('www-authenticate') ?? '', /error="insufficient_scope"/)

    const issue = ['token', 'issue', '--project', id, '--lifetime', '60']
    const { token, expires_in_seconds } = await json(...issue, '--scope', 'projects:write')
    assert.equal(expires_in_seconds, 60)
    assert.equal((await rename(token)).status, 200)
    assert.equal((await list(token)).status, 401)
    const all = await json(...issue, '--user', 'bot')
    assert.deepEqual([(await rename(all.token)).status, (await list(all.token)).status], [200, 200])
  })

  test('the server rejects revoked tokens of a user or of a project at once', async (t) => {
    const { json, send, project } = await start(t)
    const { public_key, id } = project
    const tokenOf = async (user_id: string) => {
      const reply = await send(`POST ${AUTH}/token`, { public_key, json: { user_id } })
      return reply.json<{ token: string }>().token
    }
    const [ann, bob] = [await tokenOf('ann'), await tokenOf('bob')]
    const statuses = () =>
      Promise.all(
        [ann, bob].map(
          async (token) => (await send('GET /api/v1/items?store_id=main', { token })).status,
        ),
      )
    assert.deepEqual(await statuses(), [200, 200])

    const revoked = await json('token', 'revoke', '--project', id, '--user', 'ann')
    assert.deepEqual(revoked, { project_id: id, user_id: 'ann', revoked: true })
    assert.deepEqual(await statuses(), [401, 200])
    await json('token', 'revoke', '--project', id)
    assert.deepEqual(await statuses(), [401, 401])
  })
})

test('tokens of the previous signing key stay valid after a rotation', async (t) => {
  const { json, send, project, db } = await start(t)
  const { token } = await json('token', 'issue', '--project', project.id)
  const [first] = await json('keys', 'list')

  const { kid, dropped } = await json('keys', 'rotate')

  assert.deepEqual(dropped, [])
  const listed = await json('keys', 'list')
  assert.deepEqual(
    listed.map((each: { kid: string }) => each.kid),
    [first.kid, kid],
  )
  assert.deepEqual(Object.keys(first), ['kid', 'created_at'])
  const issued = await json('token', 'issue', '--project', project.id)
  for (const each of [token, issued.token]) {
    const reply = await send('GET /api/v1/items?store_id=main', { token: each })
    assert.equal(reply.status, 200)
  }
  const env = { TILLKIT_TOKEN_SECRET: 'a secret of the operator, 32 bytes and more' }
  const fixed = await tillkit(['keys', 'rotate', '--db', db], { env })
  assert.deepEqual([fixed.code, fixed.stdout], [1, ''])
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

describe('master keys', () => {
  const same = Buffer.from(KEY, 'hex')
  test('are the same key in hexadecimal, base64 and base64url', async (t) => {
    const { db, json, ofProject } = await createShopFile(t)
    const seal = async (key: string) => {
      const env = { TILLKIT_MASTER_KEY: key }
      return JSON.parse((await tillkit(['secrets', 'seal', '--db', db, '--json'], { env })).stdout)
    }
    await json('project', 'update', ...ofProject, '--config', '{"webhook_secret":"whs_1"}')

    assert.equal((await seal(KEY)).sealed, 1)
    const nothing = { sealed: 0, unreadable: 0, idempotency_records: 0 }
    for (const written of [
      same.toString('base64'),
      same.toString('base64url'),
      KEY.toUpperCase(),
    ]) {
      assert.deepEqual(await seal(written), nothing, written)
    }
  })

  test('can be replaced: secrets are sealed again under the newest one', async (t) => {
    const { folder, db, json, ofProject } = await createShopFile(t)
    const secret = 'whs_do_not_show_this'
    await json('project', 'update', ...ofProject, '--config', `{"webhook_secret":"${secret}"}`)
    const inFile = () =>
      readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(secret))
    assert.equal(inFile(), true)
    const seal = (env: NodeJS.ProcessEnv) => tillkit(['secrets', 'seal', '--db', db], { env })
    const other = randomBytes(32).toString('base64url')

    const sealed = await seal({ TILLKIT_MASTER_KEY: KEY })
    assert.deepEqual([sealed.code, /sealed +1\n/.test(sealed.stdout), inFile()], [0, true, false])
    const lost = await seal({ TILLKIT_MASTER_KEY: other })
    assert.deepEqual([lost.code, /unreadable +1\n/.test(lost.stdout)], [1, true])
    assert.match(lost.stderr, /^tillkit: .*no master key that is set.*secrets drop\n$/)
    const moved = { TILLKIT_MASTER_KEY: other, TILLKIT_MASTER_KEY_PREVIOUS: `${KEY}, ${KEY}` }
    assert.match((await seal(moved)).stdout, /sealed +1\n/)
    assert.equal((await seal({ TILLKIT_MASTER_KEY: other })).code, 0)
    for (const env of [{}, { TILLKIT_MASTER_KEY: KEY }]) {
      const config = ['--config', '{"webhook_secret":"another"}']
      const update = await tillkit(['project', 'update', ...ofProject, ...config, '--db', db], {
        env,
      })
      const served = await tillkit(['serve', '--port', '0', '--db', db], { env })
      for (const { code, stderr } of [update, served]) {
        assert.equal(code, 1)
        assert.match(
          stderr,
          /^tillkit: No master key in TILLKIT_MASTER_KEY opens the webhook_secret of prj_\w+\nSee tillkit secrets drop --help\n$/,
        )
      }
    }
    const none = await seal({})
    assert.deepEqual([none.code, /TILLKIT_MASTER_KEY is not set/.test(none.stderr)], [2, true])
  })
})

test('a server with a master key names the secrets that are stored unencrypted', async (t) => {
  const { db, project } = await createShopFile(t)
  const config = ['--config', '{"webhook_secret":"whs_first"}', '--db', db]
  await tillkit(['project', 'update', '--project', project.id, ...config])
  await tillkit(['store', 'update', '--store', 'main', ...config])

  const env = { TILLKIT_MASTER_KEY: KEY }
  const entries = await logOfServe(t, ['--port', '0', '--lockdown', '--db', db], env)

  const names = `webhook_secret of ${project.id}, webhook_secret of ${project.id}/main`
  const message = `Secrets are stored unencrypted: ${names}; see secrets seal`
  assert.ok(entries.some((entry) => entry.message === message))
})

test('secrets of a lost master key are listed, and dropped after a confirmation', async (t) => {
  const { db, json, project } = await createShopFile(t)
  const { id: project_id, account_id } = project
  const secret = '{"webhook_secret":"whs_lost"}'
  const ofKey = (key: string, ...args: string[]) =>
    tillkit([...args, '--db', db], { env: { TILLKIT_MASTER_KEY: key } })
  const store = ['--account', account_id, '--project', project_id, '--type', 'web']
  const create = ['store', 'create', ...store, '--store', 'lost', '--config', secret]
  const update = ['project', 'update', '--project', project.id, '--config', secret]
  assert.equal((await ofKey(KEY, ...update)).code, 0)
  assert.equal((await ofKey(KEY, ...create)).code, 0)
  const fresh = randomBytes(32).toString('hex')

  for (const wrong of [[], ['--confirm', '1'], ['--confirm', '3']]) {
    const shown = await ofKey(fresh, 'secrets', 'drop', ...wrong)
    assert.equal(shown.code, 1)
    assert.match(shown.stdout, new RegExp(`^${project_id} +webhook_secret +${account_id}$`, 'm'))
    assert.match(
      shown.stdout,
      new RegExp(`^${project_id} +lost +webhook_secret +${account_id}$`, 'm'),
    )
    assert.match(shown.stderr, /^tillkit: Nothing was dropped.* --confirm 2 drops/)
    assert.equal(`${shown.stdout}${shown.stderr}`.includes('whs_lost'), false)
  }
  const none = await tillkit(['secrets', 'drop', '--confirm', '2', '--db', db])
  assert.deepEqual([none.code, none.stdout], [2, ''])
  const readable = await ofKey(KEY, 'secrets', 'drop', '--confirm', '2')
  assert.deepEqual([readable.code, readable.stdout], [0, 'none\n'])
  assert.equal((await ofKey(fresh, ...update)).code, 1)

  const dropped = await ofKey(fresh, 'secrets', 'drop', '--confirm', '2', '--json')

  assert.equal(dropped.code, 0)
  assert.deepEqual(JSON.parse(dropped.stdout), {
    dropped: true,
    secrets: [
      { account_id, project_id, field: 'webhook_secret' },
      { account_id, project_id, store_id: 'lost', field: 'webhook_secret' },
    ],
  })
  assert.equal((await ofKey(fresh, ...update)).code, 0)
  const { entries } = await json('audit', 'list', '--account', account_id)
  const drops = entries.filter(({ action }: { action: string }) => action === 'secrets.drop')
  assert.equal(drops.length, 2)
})

describe('maintenance of a database', () => {
  test('the audit log lists the changes of one account or of all, in pages', async (t) => {
    const { json, run, project_id } = await createShopFile(t)
    const { account_id } = await json('account', 'create', '--name', 'Other')

    const { entries } = await json('audit', 'list', '--account', account_id)
    assert.deepEqual(
      entries.map(({ actor, action }: AuditEntry) => [actor, action]),
      [['operator', 'account.create']],
    )
    const all: AuditEntry[] = (await json('audit', 'list')).entries
    assert.deepEqual([all.length, all[1]?.subject], [5, project_id])
    const page = await run('audit', 'list', '--limit', '4')
    const cursor = /There are more: --cursor (\d+)\n$/.exec(page.stderr)?.[1] ?? ''
    assert.deepEqual((await json('audit', 'list', '--cursor', cursor)).entries, entries)
  })

  test('a backup is written while a server runs, and is a complete database', async (t) => {
    const { json, run, folder, send, project, account_key } = await start(t)
    const copy = join(folder, 'copy.db')

    assert.deepEqual(await json('backup', copy), { backup: copy })
    const { stdout } = await run('backup', join(folder, 'second.db'))
    assert.match(
      stdout,
      /To restore it: stop the servers, move \S*till\.db, \S*-wal, \S*-shm away \(if they exist\), copy/,
    )

    const item = { store_id: 'main', name: 'a', display_name: 'x', price: '1', type: 'consumable' }
    assert.equal((await send('POST /api/v1/items', { account_key, json: item })).status, 200)
    const show = ['project', 'show', '--project', project.id]
    const restored = await tillkit([...show, '--db', copy, '--json'])
    assert.deepEqual(JSON.parse(restored.stdout), project)
    assert.equal((await tillkit(['check', '--db', copy])).stdout, 'The database is sound\n')
    const again = await tillkit(['backup', copy, '--db', join(folder, 'till.db')])
    assert.equal(again.code, 1)
    assert.match(again.stderr, /^tillkit: Cannot write the backup .*: it is there already\n$/)
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

  test('a mistyped path creates no database', async (t) => {
    const db = join(temporaryFolder(t), 'mistyped.db')
    for (const args of [
      ['account', 'list'],
      ['project', 'show', '--project', 'prj_x'],
      ['token', 'issue', '--project', 'prj_x'],
      ['check'],
      ['backup', 'copy.db'],
    ]) {
      const { code, stdout, stderr } = await tillkit([...args, '--db', db])
      assert.deepEqual([code, stdout, existsSync(db)], [1, '', false], args.join(' '))
      assert.equal(stderr, `tillkit: Cannot open the database ${db}: there is no such file\n`)
    }
  })

  test('an empty file is rejected and stays empty', async (t) => {
    const db = join(temporaryFolder(t), 'empty.db')
    writeFileSync(db, '')
    const copy = ['copy', '--from', db, '--to', 'memory:']
    for (const args of [['check', '--db', db], ['account', 'list', '--db', db], copy]) {
      const { code, stdout, stderr } = await tillkit(args)
      assert.deepEqual([code, stdout, statSync(db).size], [1, '', 0])
      assert.equal(stderr, `tillkit: Cannot open the database ${db}: the file is empty\n`)
    }
  })

  test('the error for an unknown URL lists the supported databases, without the password', async () => {
    const url = 'mysql://till:s3cret@db.example/till'
    const expected = 'tillkit: mysql://… is no database: use a file, postgres://… or memory:\n'
    for (const args of [
      ['serve'],
      ['account', 'list', '--db', url],
      ['copy', '--from', url, '--to', 'memory:'],
      ['copy', '--from', 'memory:', '--to', url],
    ]) {
      const { code, stdout, stderr } = await tillkit(args, { env: { TILLKIT_DB: url } })
      assert.deepEqual([code, stdout], [2, ''])
      assert.ok(stderr.startsWith(expected), stderr)
    }
  })
})
