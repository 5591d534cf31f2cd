// run: runtime
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer, Send } from '../../conformance/client.ts'
import { CREDENTIALS, endpointOf } from '../../conformance/endpoints.ts'
import { type ChangedCall, type Row, runRow, type Tools } from '../../conformance/rows.ts'
import { conformanceRows, toolsOf } from '../../conformance/table.ts'
import { createWorld, type World } from '../../conformance/world.ts'
import type { Till } from '../../lib/index.ts'
import { assertDocumented } from '../support/openapi/answers.ts'
import { operationOf, requestOf } from '../support/openapi/requests.ts'
import {
  assertProblem,
  rawRequest,
  serveShop,
  startServer,
  type TestServer,
} from '../support/server.ts'
import { createShop } from '../support/till.ts'

/** A row about tillkit, with more than other servers must do. */
interface OwnRow extends Row {
  /** The code of its problem. The default follows from the status. */
  readonly code?: string
  readonly headers?: { readonly [name: string]: RegExp }
  /** Texts that must be in the answer, and texts that must not, headers included. */
  readonly present?: readonly string[]
  readonly absent?: readonly string[]
}

const SECRETS = {
  webhook_secret: 'whsec-of-the-project',
  shared_secret: 'shared-secret-of-the-store',
}

/** A shop with secrets, an archived store and a disabled project. */
async function setUp(till: Till) {
  const shop = await createShop(till)
  const { account, account_id, project_id } = shop
  const { webhook_secret, shared_secret } = SECRETS
  await till.projects.update(account, { id: project_id, config: { webhook_secret } })
  for (const store of [
    { store_id: 'play', store_type: 'iap', store_config: { shared_secret } },
    { store_id: 'archived', store_type: 'web', status: 'archived' },
  ] as const) {
    await till.stores.create(account, { project_id, ...store })
  }
  const named = { name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' }
  const closed = await till.projects.create(account, { account_id, ...named })
  const { token } = await till.sessions.token(closed.public_key, { user_id: 'u' })
  await till.projects.update(account, { id: closed.id, status: 'disabled' })
  return { ...shop, closed: { ...closed, token } }
}

type Shop = Awaited<ReturnType<typeof setUp>>
type Changes = Parameters<Tools['accepts']>[2]

/** Creates the rows of one endpoint. */
function rows(number: number, make: (tools: ReturnType<typeof ownTools>) => readonly OwnRow[]) {
  return make(ownTools(number))
}

function ownTools(number: number) {
  const { row, refuses, request } = toolsOf(number)
  const { refusal } = CREDENTIALS[endpointOf(number).credential]
  return {
    /** A valid request with these changes, or the `call`, is answered with 200. */
    accepts: (title: string, changes: Changes, more: Partial<OwnRow> = {}): OwnRow => ({
      ...row(title, 'tillkit', { statuses: ['200'], changes }),
      ...more,
    }),
    /** A valid request with these changes gets 400, which names the changed fields. */
    refuses: (what: string, changes: Changes, more: Partial<OwnRow> = {}): OwnRow => ({
      ...refuses(what, 'tillkit', changes),
      ...more,
    }),
    /** A valid request with another credential gets the status of a missing one. */
    refusesCredential: (what: string, value: string, more: Partial<OwnRow> = {}): OwnRow => ({
      ...row(`refuses ${what}`, 'tillkit', { statuses: [refusal] }),
      call: async (world) => ({ ...(await request(world)), credential: { value, shown: what } }),
      ...more,
    }),
  }
}

/**
 * The rows about tillkit alone. The rules of each field are tested in test/domain, and the fields of
 * the answers by the conformance rows.
 */
function ownRows(shop: Shop): readonly OwnRow[] {
  const { account_key, public_key, token, account_id, item, closed } = shop
  const bearer = { headers: { 'www-authenticate': /^Bearer realm="tillkit"$/ } }
  const accountKey = { headers: { 'www-authenticate': /^AccountKey realm="tillkit"$/ } }
  const newItem = { store_id: 'play', name: 'potion_2', display_name: 'Potion', price: '0099' }
  const potion = JSON.stringify({ ...newItem, type: 'consumable' }).slice(1)
  const webhook_secret = 'just-sent'
  return [
    ...rows(1, ({ accepts, refusesCredential }) => [
      accepts('is never stored by a cache', {}, { headers: { 'cache-control': /^no-store$/ } }),
      refusesCredential('the public key of a disabled project', closed.public_key, {
        code: 'project_inactive',
      }),
    ]),

    ...[2, 3].flatMap((number) =>
      rows(number, ({ accepts, refuses, refusesCredential }) => [
        accepts(
          'ignores an unknown field, and shows nothing of the request',
          { nonce: 'mine', user_id: 'ü'.repeat(255), dlscheme: 'mygame' },
          { absent: ['mine', 'ü', 'mygame', 'store_config', '"config"'] },
        ),
        {
          ...refusesCredential('a public key only in the body', ''),
          call: async () => ({ json: { public_key, user_id: 'player' }, credential: null }),
        },
        refuses('all bad fields at once', {
          public_key: 1,
          user_id: '',
          'device_info.platform': 'windows',
          dlscheme: 7,
        }),
      ]),
    ),

    ...rows(4, ({ accepts, refuses, refusesCredential }) => [
      accepts('ignores an unknown field', { id: 'itm_mine' }, { absent: ['itm_mine'] }),
      accepts(
        'takes the last of repeated keys',
        {},
        {
          call: async () => ({ text: `{"name":"first",${potion}` }),
          present: ['potion_2'],
          absent: ['first'],
        },
      ),
      refusesCredential('a bearer token', token, accountKey),
      refuses('all bad fields at once', { name: 'a b', price: 1, type: 'loan', meta: [] }),
      // Only the text of the body shows that these numbers would be rounded.
      ...['9007199254740993', '-1e16', '1e999'].map((number) => ({
        ...refuses(`the number ${number} in meta`, {}, { fields: ['meta'] }),
        call: async ({ newItem }: World) => {
          const item = JSON.stringify({ ...(await newItem()), meta: { n: 0 } })
          return { text: item.replace(':0}', `:${number}}`) }
        },
      })),
      ...['', '{', '"text"', 'null', '{"a":1}}'].map((text) => ({
        ...refuses(`the body ${text || 'without bytes'}`, {}, { fields: [] }),
        call: async () => ({ text }),
      })),
    ]),

    ...rows(5, ({ accepts, refusesCredential }) => [
      accepts(
        'lists the items of a store, and ignores other parameters',
        { query: '?x=1&store_id=main&x=2' },
        { present: [item.id] },
      ),
      accepts(
        'lists nothing of an empty store',
        { query: '?store_id=archived' },
        { present: ['{"items":[]}'] },
      ),
      refusesCredential('an account key', account_key, bearer),
    ]),

    ...rows(6, ({ accepts, refusesCredential }) => [
      accepts('decodes the id', { item_id: `%69${item.id.slice(1)}` }, { present: [item.id] }),
      refusesCredential('a token of a disabled project', closed.token),
    ]),

    ...rows(7, ({ accepts, refuses }) => [
      accepts(
        'shows nothing of the file',
        { store_id: 'main', file: CSV },
        { present: [' {"ok":true}'], absent: ['T-1'] },
      ),
      refuses(
        'an archived store',
        { store_id: 'archived' },
        { code: 'store_inactive', fields: [] },
      ),
    ]),

    ...rows(8, ({ accepts, refuses }) => [
      accepts(
        'returns a secret that was sent, and a public key only in a header',
        { id: 'prj_mine', config: { webhook_secret } },
        {
          headers: { 'x-public-project-key': /^pk_[\w-]{32}$/ },
          async judge({ headers }, { call }) {
            const value = headers.get('x-public-project-key') ?? ''
            assert.equal((await call(1, { credential: { value, shown: '' } })).status, 200)
          },
          present: [webhook_secret],
          absent: ['"public_key"', 'prj_mine'],
        },
      ),
      refuses('all bad fields at once, those of config by path', {
        name: '',
        platform: 'Mobile',
        'config.sandbox_enabled': 'yes',
        'config.webhook_secret': webhook_secret.repeat(200),
      }),
    ]),

    ...rows(9, ({ accepts, refusesCredential }) => [
      accepts(
        'ignores all other fields, and hides a stored secret',
        { config: undefined, status: 7, account_id: 'acc_other', public_key: 'pk_other' },
        { present: [account_id], absent: ['acc_other', 'pk_other', 'webhook_secret'] },
      ),
      accepts(
        'returns a secret that was sent',
        { name: undefined, config: { webhook_secret } },
        { present: [webhook_secret] },
      ),
      refusesCredential('an account key', account_key),
    ]),

    ...rows(10, ({ accepts, refuses }) => [
      accepts(
        'returns a secret that was sent, and ignores an unknown field',
        { store_type: 'web', store_config: { webhook_secret }, country: 'FI' },
        { present: [webhook_secret], absent: ['country', 'account_id', 'created_at'] },
      ),
      refuses('all bad fields at once, those of store_config by path', {
        project_id: 7,
        store_id: 'a b',
        is_sandbox: 'true',
        'store_config.currency': 'usd',
      }),
    ]),
  ]
}

const CSV = 'transaction_id,sku,purchased_at\nT-1,gold,2024-03-01T12:00:00Z\n'

test('the ten endpoints', async (t) => {
  const server = await startServer(t, { storage: 'file' })
  const shop = await setUp(server.till)
  const world = createWorld(sendTo(server, shop), shop)
  const all: readonly OwnRow[] = [...ownRows(shop), ...conformanceRows()]
  for (const row of all) {
    await t.test(`${row.endpoint}: ${row.title}`, async () => {
      const { call, answer } = await runRow(row, world)
      if (answer.status !== 200) assertRefused(row, call, answer)
      for (const [name, expected] of Object.entries(row.headers ?? {})) {
        assert.match(answer.headers.get(name) ?? '', expected)
      }
      const shown = shownIn(answer)
      for (const text of row.present ?? []) assert.ok(shown.includes(text), `lacks ${text}`)
      for (const text of row.absent ?? []) assert.ok(!shown.includes(text), `shows ${text}`)
    })
  }
})

/** As a word only, because the letters may stand in a random key. */
const A_WORD_OF_SQL = /\bSQL(ITE|ite|STATE)?(_|\b)/

/** Sends the requests of rows to a server. Judges each answer by what is true for all of them. */
function sendTo({ send, log }: TestServer, shop: Shop): Send {
  const { account_key, public_key, token } = shop
  const secrets = [account_key, ...Object.values(SECRETS)]
  const inNoAnswer = [...secrets, '"null"', ':null', 'stack', 'node_modules']
  const inNoProblem = [token, public_key, 'just-sent', '"items"', '"session"']
  const inNoLog = [...secrets, public_key, token, 'just-sent', 'Potion', 'New Game', 'T-1']
  return async (endpoint, call) => {
    const { line, parts } = requestOf(endpoint, call)
    const reply = await send(line, parts)
    const { status, headers, text } = reply
    assertDocumented(operationOf(endpoint), reply)
    const answer = { endpoint, status, headers, text, body: JSON.parse(text), request: line }
    const shown = shownIn(answer)
    const forbidden = status === 200 ? inNoAnswer : [...inNoAnswer, ...inNoProblem]
    for (const each of forbidden.filter((each) => !isEcho(answer, each))) {
      assert.ok(!shown.includes(each), `shows ${each}`)
    }
    assert.doesNotMatch(shown, A_WORD_OF_SQL)
    const logged = JSON.stringify(log.splice(0))
    for (const each of inNoLog) assert.ok(!logged.includes(each), `logs ${each}`)
    return answer
  }
}

/** A `store_config` keeps unknown keys that are null. */
function isEcho({ endpoint }: Answer, text: string): boolean {
  return endpoint === 10 && text === ':null'
}

const shownIn = ({ headers, text }: Pick<Answer, 'headers' | 'text'>) =>
  `${JSON.stringify([...headers])} ${text}`

const CODES: { readonly [code: string | number]: string } = {
  publicKey: 'invalid_public_key',
  accountKey: 'account_key_required',
  token: 'token_required',
  404: 'item_not_found',
  415: 'unsupported_media_type',
  'refuses a file without known columns': 'invalid_purchases',
}

/** How tillkit names the changed parts of a request without a body. */
const NAMES: { readonly [part: string]: readonly string[] } = { query: ['store_id'], item_id: [] }

/** Asserts the code of a problem, and that it names exactly the wrong fields. */
function assertRefused(row: OwnRow, { credential, changed = [] }: ChangedCall, answer: Answer) {
  const { status, headers, text, body } = answer
  const isCredential = credential !== undefined
  const key = isCredential ? endpointOf(row.endpoint).credential : status
  const code = row.code ?? CODES[row.title] ?? CODES[key] ?? 'invalid_request'
  const reply = { status, headers, text, json: () => body as never }
  const { errors = [] } = assertProblem(reply, status, code)
  const named = errors.flatMap(({ field = [] }) => field)
  const wrong = row.fields ?? changed.flatMap((name) => NAMES[name] ?? name)
  assert.deepEqual(named.sort(), code === 'invalid_request' ? [...wrong].sort() : [])
}

test('a created item is read back unchanged, and is the last one of its list', async (t) => {
  const { send, account_key, token } = await serveShop(t, { storage: 'file' })
  const deep = `${'{"a":'.repeat(30)}{}${'}'.repeat(30)}`
  const meta = `{"deep":${deep},"list":[null,true,0.1,-1,"é😀",""],"__proto__":{"a":1}}`
  const item = { store_id: 'main', name: '_', display_name: 'P', type: 'consumable' }
  const sent = { ...item, price: '9007199254740991' }
  const body = `${JSON.stringify(sent).slice(0, -1)},"meta":${meta}}`

  const created = await send('POST /api/v1/items', { account_key, body })
  const { id } = created.json<{ id: string }>()
  const read = await send(`GET /api/v1/items/${id}`, { token })
  const list = await send('GET /api/v1/items?store_id=main', { token })

  const { metadata: kept, ...others } = read.json<{ metadata: object }>()
  assert.deepEqual(others, { ...item, id, description: '', price: 9007199254740991 })
  assert.equal(JSON.stringify(kept), meta)
  assert.ok(list.text.endsWith(`${read.text}]}`))
})

test('a well-formed request id of the client is used, else a new one', async (t) => {
  const { send, entryOf } = await startServer(t)
  const given = ['a', 'A-z_0', 'x'.repeat(64)]
  const refused = ['', 'a b', 'x'.repeat(65), '"quoted"', 'é', '../etc', '<script>']
  for (const path of ['/healthz', '/nowhere', '/api/v1/items']) {
    for (const id of [...given, ...refused]) {
      const reply = await send(`GET ${path}`, { headers: { 'x-request-id': id } })
      const used = reply.headers.get('x-request-id') ?? ''
      if (given.includes(id)) assert.equal(used, id)
      else assert.match(used, /^[\da-f-]{36}$/)
      assert.equal((await entryOf(used)).request_id, used)
    }
  }
})

test('the scheme of a token is Bearer, in upper or lower case', async (t) => {
  const { send, token } = await serveShop(t)
  const list = (authorization: string) =>
    send('GET /api/v1/items?store_id=main', { headers: { authorization } })
  assert.equal((await list(`bEaReR ${token}`)).status, 200)
  for (const refused of [token, `Basic ${token}`, `Bearer${token}`]) {
    assertProblem(await list(refused), 401, 'token_required')
  }
})

test('the credential is verified before the body is read', async (t) => {
  const { connect, send } = await startServer(t)
  const heads = ['type: application/json', 'type: multipart/form-data', 'encoding: gzip']
  for (const { method, path, credential, bodyType } of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(
    endpointOf,
  )) {
    if (!bodyType) continue
    const request = `${method} ${path}`
    const expected = [Number(CREDENTIALS[credential].refusal), CODES[credential] ?? ''] as const
    assertProblem(await send(request, { body: '{' }), ...expected)
    for (const head of heads) {
      const client = await connect()
      // Announces a megabyte, more than is allowed, and sends none of it.
      client.write(rawRequest(request, [`content-${head}`, 'content-length: 1048576']))
      assertProblem(await client.reply(), ...expected)
    }
  }
})
