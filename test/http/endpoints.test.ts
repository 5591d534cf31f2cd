import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { createMemoryStorage, type Storage, type Till, TillError } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import {
  assertProblem,
  importForm,
  type Parts,
  type Reply,
  rawRequest,
  startServer,
} from '../support/server.ts'

const AUTH = '/api/v1/identity/auth'

/** The secrets in the world below. */
const SECRETS = {
  webhook_secret: 'whsec-of-the-project',
  shared_secret: 'shared-secret-of-the-store',
  api_key: 'api-key-of-the-store',
}

/** Two accounts, the first with two projects. Each credential may access only some of them. */
async function setUp(till: Till) {
  const account = await till.accounts.create({ name: 'Studio' })
  const stranger = await till.accounts.create({ name: 'Stranger' })
  const project = await createProject(till, account, { webhook_secret: SECRETS.webhook_secret })
  const sibling = await createProject(till, account)
  const foreign = await createProject(till, stranger)
  const closedProject = await createProject(till, account)
  const { session: closing } = await till.sessions.init(closedProject.public_key, { user_id: 'u' })
  await till.projects.update(account, { id: closedProject.id, status: 'disabled' })

  const { shared_secret, api_key, webhook_secret } = SECRETS
  const at = { project_id: project.id }
  await till.stores.create(account, {
    ...at,
    store_id: 'main',
    store_type: 'web',
    store_config: { currency: 'USD', webhook_secret },
  })
  await till.stores.create(account, {
    ...at,
    store_id: 'play',
    store_type: 'iap',
    is_sandbox: true,
    store_config: { platform: 'google_play', shared_secret },
  })
  await till.stores.create(account, {
    ...at,
    store_id: 'mods',
    store_type: 'custom',
    status: 'beta',
    store_config: { api_key },
  })
  for (const status of ['disabled', 'archived']) {
    await till.stores.create(account, { ...at, store_id: status, store_type: 'web', status })
  }
  const inSibling = { project_id: sibling.id, store_id: 'siblings', store_type: 'web' as const }
  await till.stores.create(account, inSibling)
  const inForeign = { project_id: foreign.id, store_id: 'theirs', store_type: 'web' as const }
  await till.stores.create(stranger, inForeign)

  const gold = { store_id: 'main', name: 'gold', display_name: 'Gold', type: 'consumable' as const }
  const item = await till.items.create(account, { ...gold, price: '499' })
  const siblingItem = await till.items.create(account, {
    ...gold,
    store_id: 'siblings',
    price: '1',
  })
  const foreignItem = await till.items.create(stranger, { ...gold, store_id: 'theirs', price: '1' })
  const { session } = await till.sessions.init(project.public_key, { user_id: 'player' })
  return {
    account,
    account_key: account.account_key,
    stranger,
    project,
    public_key: project.public_key,
    sibling,
    foreign,
    closedProject,
    closedToken: closing.token,
    item,
    siblingItem,
    foreignItem,
    token: session.token,
  }
}

type World = Awaited<ReturnType<typeof setUp>>

async function createProject(
  till: Till,
  account: { account_id: string; name: string; created_at: string },
  config = {},
) {
  const { account_id } = account
  const named = { name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' }
  return till.projects.create(account, { account_id, ...named, config })
}

type Request = readonly [request: string, parts?: Parts]

interface Scenario {
  readonly name: string
  readonly send: (world: World) => Request
  /** The whole body of a 200: exactly these keys; a pattern matches a string. */
  readonly body?: (world: World) => object
  readonly headers?: { readonly [name: string]: RegExp }
  /** The status and code of a problem, and the fields that it must name, in any order. */
  readonly problem?: readonly [status: number, code: string, ...fields: string[]]
  /** Texts that must not be in the reply, headers included. */
  readonly absent: (world: World) => readonly string[]
}

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
const EXPIRES_AT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
const ITEM_ID = /^itm_\w+$/

const bodyless = ['"null"', ':null', 'stack', 'node_modules', 'SQL']
/** Keys and secrets that no reply may contain. */
const allSecrets = ({ account_key }: World) => [account_key, ...Object.values(SECRETS), ...bodyless]
/** An error answer must not contain record fields either. */
const everything = (world: World) => [
  ...allSecrets(world),
  world.token,
  world.public_key,
  world.stranger.account_id,
  world.foreign.id,
  world.foreignItem.id,
  world.sibling.id,
  '"items"',
  '"session"',
]

const session = { token: JWT, expires_at: EXPIRES_AT, expires_in_seconds: 3600 }
const deviceInfo = {
  device_id: 'device-no-1234567',
  platform: 'ios',
  os_version: '18.1',
  app_version: '2.0',
}

function initBody({ project }: World) {
  return {
    project: {
      id: project.id,
      name: 'Game',
      bundle_id: 'com.example.game',
      platform: 'mobile',
      status: 'active',
      dlscheme: '',
    },
    session,
    stores: [
      { id: 'main', store_type: 'web', is_sandbox: false, status: 'active' },
      { id: 'play', store_type: 'iap', is_sandbox: true, status: 'active' },
      { id: 'mods', store_type: 'custom', is_sandbox: false, status: 'beta' },
      { id: 'disabled', store_type: 'web', is_sandbox: false, status: 'disabled' },
      { id: 'archived', store_type: 'web', is_sandbox: false, status: 'archived' },
    ],
  }
}

const accessToken: Scenario[] = [
  {
    name: 'GET /access-token: a public key gets an access token',
    send: ({ public_key }) => [`GET ${AUTH}/access-token`, { public_key }],
    body: () => ({ access_token: JWT, ttl_seconds: 3600 }),
    headers: { 'content-type': /^application\/json$/, 'cache-control': /^no-store$/ },
    absent: allSecrets,
  },
  {
    name: 'GET /access-token: without a public key it is 400',
    send: () => [`GET ${AUTH}/access-token`],
    problem: [400, 'invalid_public_key'],
    absent: everything,
  },
  {
    name: 'GET /access-token: an account key is not a public key',
    send: ({ account_key }) => [`GET ${AUTH}/access-token`, { public_key: account_key }],
    problem: [400, 'invalid_public_key'],
    absent: everything,
  },
  {
    name: 'GET /access-token: a disabled project opens no session',
    send: ({ closedProject }) => [
      `GET ${AUTH}/access-token`,
      { public_key: closedProject.public_key },
    ],
    problem: [400, 'project_inactive'],
    absent: everything,
  },
]

/** `POST /init` and `POST /token` accept the same body. */
function sessionScenarios(request: string, body: (world: World) => object) {
  const refused = (json: unknown, ...fields: string[]): Omit<Scenario, 'name'> => ({
    send: ({ public_key }) => [request, { public_key, json }],
    problem: [400, 'invalid_request', ...fields],
    absent: everything,
  })
  const rows: Scenario[] = [
    {
      name: 'a user id is enough',
      send: ({ public_key }) => [request, { public_key, json: { user_id: 'player-7' } }],
      body,
      absent: (world) => [...allSecrets(world), 'player-7', 'store_config', '"config"'],
    },
    {
      name: 'accepts every specified field and ignores an unknown one',
      send: ({ public_key }) => [
        request,
        {
          public_key,
          json: {
            public_key,
            user_id: 'ü'.repeat(255),
            device_info: { ...deviceInfo, model: 'X' },
            dlscheme: 'mygame',
            nonce: 1,
          },
        },
      ],
      body,
      absent: (world) => [...allSecrets(world), 'mygame', 'device-no-1234567', 'nonce'],
    },
    {
      name: 'without a public key it is 400',
      send: () => [request, { json: { user_id: 'player' } }],
      problem: [400, 'invalid_public_key'],
      absent: everything,
    },
    {
      name: 'the public key in the body does not replace the header',
      send: ({ public_key }) => [request, { json: { public_key, user_id: 'player' } }],
      problem: [400, 'invalid_public_key'],
      absent: everything,
    },
    {
      name: 'an unknown public key is 400',
      send: () => [request, { public_key: 'pk_unknown', json: { user_id: 'player' } }],
      problem: [400, 'invalid_public_key'],
      absent: everything,
    },
    {
      name: 'a disabled project opens no session',
      send: ({ closedProject: { public_key } }) => [
        request,
        { public_key, json: { user_id: 'player' } },
      ],
      problem: [400, 'project_inactive'],
      absent: everything,
    },
    { name: 'the user id is required', ...refused({}, 'user_id') },
    { name: 'a user id is not null', ...refused({ user_id: null }, 'user_id') },
    { name: 'a user id is not a number', ...refused({ user_id: 7 }, 'user_id') },
    { name: 'a user id is not empty', ...refused({ user_id: '' }, 'user_id') },
    {
      name: 'a user id has at most 255 characters',
      ...refused({ user_id: 'u'.repeat(256) }, 'user_id'),
    },
    { name: 'a user id has no control character', ...refused({ user_id: 'a\nb' }, 'user_id') },
    { name: 'a user id is well-formed Unicode', ...refused({ user_id: '\ud800' }, 'user_id') },
    {
      name: 'a public key in the body that differs from the header is 400',
      ...refused({ public_key: 'pk_other', user_id: 'player' }, 'public_key'),
    },
    {
      name: 'names all bad fields at once',
      ...refused(
        {
          public_key: 1,
          user_id: '',
          device_info: { platform: 'windows', device_id: 7, os_version: 'x'.repeat(256) },
          dlscheme: 'my game',
        },
        'public_key',
        'user_id',
        'device_info.platform',
        'device_info.device_id',
        'device_info.os_version',
        'dlscheme',
      ),
    },
    {
      name: 'device info is an object',
      ...refused({ user_id: 'player', device_info: 'ios' }, 'device_info'),
    },
  ]
  return rows.map((row) => ({ ...row, name: `${request}: ${row.name}` }))
}

const newItem = {
  store_id: 'main',
  name: 'potion_2',
  display_name: 'Potion',
  price: '0099',
  type: 'consumable',
}

/** `POST /items` refuses a valid body with this change. */
function itemRefused(change: object, ...fields: string[]): Omit<Scenario, 'name'> {
  return {
    send: ({ account_key }) => [
      'POST /api/v1/items',
      { account_key, json: { ...newItem, ...change } },
    ],
    problem: [400, 'invalid_request', ...fields],
    absent: everything,
  }
}

function nested(depth: number): object {
  return depth === 1 ? {} : { a: nested(depth - 1) }
}

const createItem: Scenario[] = [
  {
    name: 'POST /items: the required fields are enough',
    send: ({ account_key }) => ['POST /api/v1/items', { account_key, json: newItem }],
    body: () => ({ id: ITEM_ID, name: 'potion_2', display_name: 'Potion', description: '' }),
    absent: (world) => [...allSecrets(world), 'price', 'metadata', 'account_id', 'created_at'],
  },
  {
    name: 'POST /items: accepts the optional fields and ignores unknown ones',
    send: ({ account_key }) => [
      'POST /api/v1/items',
      {
        account_key,
        json: {
          ...newItem,
          id: 'itm_mine',
          description: 'Heals',
          meta: { a: [1, { b: true }] },
          metadata: { ignored: true },
          discount: 5,
        },
      },
    ],
    body: () => ({ id: ITEM_ID, name: 'potion_2', display_name: 'Potion', description: 'Heals' }),
    absent: (world) => [...allSecrets(world), 'itm_mine', 'discount', 'meta'],
  },
  {
    name: 'POST /items: the last of repeated JSON keys counts',
    send: ({ account_key }) => [
      'POST /api/v1/items',
      { account_key, body: `{"name":"first",${JSON.stringify(newItem).slice(1)}` },
    ],
    body: () => ({ id: ITEM_ID, name: 'potion_2', display_name: 'Potion', description: '' }),
    absent: (world) => [...allSecrets(world), 'first'],
  },
  {
    name: 'POST /items: without an account key it is 401',
    send: () => ['POST /api/v1/items', { json: newItem }],
    problem: [401, 'account_key_required'],
    headers: { 'www-authenticate': /^AccountKey realm="tillkit"$/ },
    absent: everything,
  },
  {
    name: 'POST /items: an unknown account key is 401',
    send: ({ account_key }) => [
      'POST /api/v1/items',
      { account_key: `${account_key}x`, json: newItem },
    ],
    problem: [401, 'account_key_required'],
    headers: { 'www-authenticate': /^AccountKey / },
    absent: everything,
  },
  {
    name: 'POST /items: a bearer token is not an account key',
    send: ({ token }) => ['POST /api/v1/items', { token, json: newItem }],
    problem: [401, 'account_key_required'],
    absent: everything,
  },
  {
    name: 'POST /items: a public key is not an account key',
    send: ({ public_key }) => ['POST /api/v1/items', { account_key: public_key, json: newItem }],
    problem: [401, 'account_key_required'],
    absent: everything,
  },
  {
    name: 'POST /items: names all missing fields at once',
    send: ({ account_key }) => ['POST /api/v1/items', { account_key, json: {} }],
    problem: [400, 'invalid_request', 'store_id', 'name', 'display_name', 'price', 'type'],
    absent: everything,
  },
  {
    name: 'POST /items: names all invalid fields at once',
    ...itemRefused(
      { name: 'a b', display_name: '', price: 1, type: 'loan', description: 1, meta: [] },
      'name',
      'display_name',
      'price',
      'type',
      'description',
      'meta',
    ),
  },
  {
    name: 'POST /items: a name that exists in the store is 400',
    ...itemRefused({ name: 'gold' }, 'name'),
  },
  {
    name: 'POST /items: an unknown store is 400',
    ...itemRefused({ store_id: 'nowhere' }, 'store_id'),
  },
  {
    name: 'POST /items: a foreign store is 400',
    ...itemRefused({ store_id: 'theirs' }, 'store_id'),
  },
  ...[499, '4.99', '', '-1', '+1', ' 1', '1e3', '0x10', '٤٩٩', '9007199254740992', null].map(
    (price) => ({
      name: `POST /items: the price ${JSON.stringify(price)} is refused`,
      ...itemRefused({ price }, 'price'),
    }),
  ),
  ...['', 'a-b', 'ä', 'a b', 'a\n', 'x'.repeat(256), 7].map((name) => ({
    name: `POST /items: the name ${JSON.stringify(name).slice(0, 20)} is refused`,
    ...itemRefused({ name }, 'name'),
  })),
  ...Object.entries({
    'an array': [],
    null: null,
    'a string': '{}',
    '33 levels': nested(33),
    'U+0000': { a: ['\0'] },
    'a lone surrogate': { '\udc00': 1 },
    'more than 64 KiB': { a: 'x'.repeat(64 * 1024) },
  }).map(([what, meta]) => ({
    name: `POST /items: meta that is or has ${what} is refused`,
    ...itemRefused({ meta }, 'meta'),
  })),
  ...['9007199254740993', '-1e16', '1e999'].map((number) => ({
    name: `POST /items: the number ${number} in meta is refused, not rounded`,
    send: ({ account_key }: World): Request => [
      'POST /api/v1/items',
      {
        account_key,
        body: JSON.stringify({ ...newItem, meta: { n: 0 } }).replace(':0}', `:${number}}`),
      },
    ],
    problem: [400, 'invalid_request', 'meta'] as const,
    absent: everything,
  })),
  ...['', '{', '[]', '"text"', 'null', '{"a":1}}', "{'a':1}"].map((body) => ({
    name: `POST /items: the ${body ? `body ${body}` : 'empty body'} is 400`,
    send: ({ account_key }: World): Request => ['POST /api/v1/items', { account_key, body }],
    problem: [400, 'invalid_request'] as const,
    absent: everything,
  })),
]

function itemDto({ item }: World) {
  return {
    id: item.id,
    name: 'gold',
    display_name: 'Gold',
    description: '',
    price: 499,
    type: 'consumable',
    store_id: 'main',
    metadata: {},
  }
}

/** Invalid bearer tokens. */
function tokenScenarios(number: number, request: (world: World) => Request): Scenario[] {
  const bad: { readonly [what: string]: (world: World) => Parts } = {
    'no token': () => ({}),
    'an account key in its place': ({ account_key }) => ({ account_key }),
    'a public key in its place': ({ public_key }) => ({ public_key }),
    'an account key as token': ({ account_key }) => ({ token: account_key }),
    'another scheme': ({ token }) => ({ headers: { authorization: `Basic ${token}` } }),
    'no scheme': ({ token }) => ({ headers: { authorization: token } }),
    'two tokens': ({ token }) => ({
      headers: { authorization: `Bearer ${token}, Bearer ${token}` },
    }),
    'a token with one letter changed': ({ token }) => ({ token: tampered(token) }),
    'an unsigned token': ({ token }) => ({ token: unsigned(token) }),
    'a token signed with another key': ({ token }) => ({ token: resigned(token) }),
    'a token of a disabled project': ({ closedToken }) => ({ token: closedToken }),
  }
  return Object.entries(bad).map(([what, credential]) => ({
    name: `${number}: ${what} is 401`,
    send: (world) => {
      const [line, parts] = request(world)
      return [line, { ...parts, token: undefined, ...credential(world) }]
    },
    problem: [401, 'token_required'],
    headers: { 'www-authenticate': /^Bearer realm="tillkit"$/ },
    absent: everything,
  }))
}

function tampered(token: string): string {
  const [header, payload = '', signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return [header, encode({ ...claims, sub: 'admin' }), signature].join('.')
}

function unsigned(token: string): string {
  return `${encode({ alg: 'none', typ: 'JWT' })}.${token.split('.')[1]}.`
}

function resigned(token: string): string {
  const [header, payload] = token.split('.')
  const signature = createHmac('sha256', Buffer.alloc(32)).update(`${header}.${payload}`)
  return `${header}.${payload}.${signature.digest('base64url')}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

const listItems: Scenario[] = [
  {
    name: 'GET /items: a token lists the items of a store',
    send: ({ token }) => ['GET /api/v1/items?store_id=main', { token }],
    body: (world) => ({ items: [itemDto(world)] }),
    absent: (world) => [...allSecrets(world), world.foreignItem.id, 'account_id', 'created_at'],
  },
  {
    name: 'GET /items: a store without items has an empty list',
    send: ({ token }) => ['GET /api/v1/items?store_id=play', { token }],
    body: () => ({ items: [] }),
    absent: allSecrets,
  },
  {
    name: 'GET /items: the token scheme is case-insensitive, and other parameters are ignored',
    send: ({ token }) => [
      'GET /api/v1/items?x=1&store_id=main&x=2',
      { headers: { authorization: `bEaReR ${token}` } },
    ],
    body: (world) => ({ items: [itemDto(world)] }),
    absent: allSecrets,
  },
  ...[
    ...['', '?store_id', '?store_id=', '?store_id=a%20b', '?store_id=%FF', '?store=main'],
    ...['?store_id=main&store_id=main', '?store_id=main&store_id=play'],
  ].map((query) => ({
    name: `GET /items: the query '${query}' is 400`,
    send: ({ token }: World): Request => [`GET /api/v1/items${query}`, { token }],
    problem: [400, 'invalid_request', 'store_id'] as const,
    absent: everything,
  })),
  ...['nowhere', 'theirs', 'siblings', 'MAIN'].map((store_id) => ({
    name: `GET /items: the store '${store_id}', which the token does not reach, is 400`,
    send: ({ token }: World): Request => [`GET /api/v1/items?store_id=${store_id}`, { token }],
    problem: [400, 'invalid_request', 'store_id'] as const,
    absent: everything,
  })),
  ...tokenScenarios(5, ({ token }) => ['GET /api/v1/items?store_id=main', { token }]),
]

const getItem: Scenario[] = [
  {
    name: 'GET /items/{item_id}: a token reads one item',
    send: ({ token, item }) => [`GET /api/v1/items/${item.id}`, { token }],
    body: itemDto,
    absent: (world) => [...allSecrets(world), 'account_id', 'created_at'],
  },
  {
    name: 'GET /items/{item_id}: an id may be percent-encoded',
    send: ({ token, item }) => [`GET /api/v1/items/%69${item.id.slice(1)}`, { token }],
    body: itemDto,
    absent: allSecrets,
  },
  ...Object.entries<(world: World) => string>({
    'an unknown item': () => 'itm_unknown',
    'a foreign item': ({ foreignItem }) => foreignItem.id,
    'an item of another project': ({ siblingItem }) => siblingItem.id,
    'an item by its name': () => 'gold',
    'an id with U+0000': ({ item }) => `${item.id}%00`,
    'an id with an encoded slash': () => 'a%2Fb',
    'an id of 8 KiB': () => 'i'.repeat(8192),
  }).map(([what, id]) => ({
    name: `GET /items/{item_id}: ${what} is 404`,
    send: (world: World): Request => [`GET /api/v1/items/${id(world)}`, { token: world.token }],
    problem: [404, 'item_not_found'] as const,
    absent: everything,
  })),
  {
    name: 'GET /items/{item_id}: an id with malformed percent-encoding is 400',
    send: ({ token }) => ['GET /api/v1/items/%FF', { token }],
    problem: [400, 'invalid_request'],
    absent: everything,
  },
  ...tokenScenarios(6, ({ token, item }) => [`GET /api/v1/items/${item.id}`, { token }]),
]

const CSV = 'transaction_id,sku,purchased_at\nT-1,gold,2024-03-01T12:00:00Z\n'

const importPurchases: Scenario[] = [
  {
    name: 'POST /purchases/import: a token imports purchases',
    send: ({ token }) => ['POST /api/v1/purchases/import', { token, body: importForm(CSV) }],
    body: () => ({ ok: true }),
    absent: (world) => [...allSecrets(world), 'T-1'],
  },
  {
    name: 'POST /purchases/import: names all missing parts at once',
    send: ({ token }) => {
      const body = new FormData()
      body.append('other', 'x')
      return ['POST /api/v1/purchases/import', { token, body }]
    },
    problem: [400, 'invalid_request', 'file', 'store_id'],
    absent: everything,
  },
  ...['disabled', 'archived'].map((store_id) => ({
    name: `POST /purchases/import: a ${store_id} store accepts no import`,
    send: ({ token }: World): Request => [
      'POST /api/v1/purchases/import',
      { token, body: importForm(CSV, { store_id }) },
    ],
    problem: [400, 'store_inactive'] as const,
    absent: everything,
  })),
  ...['nowhere', 'theirs', 'siblings', ''].map((store_id) => ({
    name: `POST /purchases/import: the store '${store_id}', which the token does not reach, is 400`,
    send: ({ token }: World): Request => [
      'POST /api/v1/purchases/import',
      { token, body: importForm(CSV, { store_id }) },
    ],
    problem: [400, 'invalid_request', 'store_id'] as const,
    absent: everything,
  })),
  {
    name: 'POST /purchases/import: a body of JSON is 415',
    send: ({ token }) => ['POST /api/v1/purchases/import', { token, json: { store_id: 'main' } }],
    problem: [415, 'unsupported_media_type'],
    absent: everything,
  },
  ...tokenScenarios(7, ({ token }) => [
    'POST /api/v1/purchases/import',
    { token, body: importForm(CSV) },
  ]),
]

function newProject({ account }: World) {
  return {
    account_id: account.account_id,
    name: 'Second Game',
    bundle_id: 'org.example.second-game',
    platform: 'desktop',
  }
}

function projectRefused(
  change: (world: World) => object,
  ...fields: string[]
): Omit<Scenario, 'name'> {
  return {
    send: (world) => [
      'POST /api/v1/projects',
      { account_key: world.account_key, json: { ...newProject(world), ...change(world) } },
    ],
    problem: [400, 'invalid_request', ...fields],
    absent: everything,
  }
}

const createProjects: Scenario[] = [
  {
    name: 'POST /projects: the required fields are enough',
    send: (world) => [
      'POST /api/v1/projects',
      { account_key: world.account_key, json: newProject(world) },
    ],
    body: (world) => ({ id: /^prj_\w+$/, ...newProject(world), status: 'active', config: {} }),
    headers: { 'x-public-project-key': /^pk_[\w-]{32}$/ },
    absent: (world) => [...allSecrets(world), '"public_key"', 'dlscheme', 'created_at'],
  },
  {
    name: 'POST /projects: accepts every field, and returns the secret that this request sent',
    send: (world) => [
      'POST /api/v1/projects',
      {
        account_key: world.account_key,
        json: {
          ...newProject(world),
          id: 'prj_mine',
          public_key: 'pk_mine',
          status: 'beta',
          dlscheme: 'mygame',
          config: fullConfig,
        },
      },
    ],
    body: (world) => ({
      id: /^prj_\w+$/,
      ...newProject(world),
      status: 'beta',
      config: fullConfig,
    }),
    absent: (world) => [...allSecrets(world), 'prj_mine', 'pk_mine', 'mygame'],
  },
  ...['mobile', 'web', 'desktop', 'ios', 'android', 'adroid'].map((platform) => ({
    name: `POST /projects: the platform ${platform} is kept as sent`,
    send: (world: World): Request => [
      'POST /api/v1/projects',
      { account_key: world.account_key, json: { ...newProject(world), platform } },
    ],
    body: (world: World) => ({
      id: /^prj_\w+$/,
      ...newProject(world),
      platform,
      status: 'active',
      config: {},
    }),
    absent: allSecrets,
  })),
  {
    name: 'POST /projects: without an account key it is 401',
    send: (world) => ['POST /api/v1/projects', { json: newProject(world) }],
    problem: [401, 'account_key_required'],
    headers: { 'www-authenticate': /^AccountKey / },
    absent: (world) => [...everything(world), 'account_id'],
  },
  {
    name: 'POST /projects: a bearer token is not an account key',
    send: (world) => ['POST /api/v1/projects', { token: world.token, json: newProject(world) }],
    problem: [401, 'account_key_required'],
    absent: everything,
  },
  {
    name: 'POST /projects: names all missing fields at once',
    send: ({ account_key }) => ['POST /api/v1/projects', { account_key, json: {} }],
    problem: [400, 'invalid_request', 'account_id', 'name', 'bundle_id', 'platform'],
    absent: everything,
  },
  {
    name: 'POST /projects: names all invalid fields at once, those of config by path',
    ...projectRefused(
      () => ({
        name: '',
        bundle_id: 'game',
        platform: 'Mobile',
        status: '',
        dlscheme: 'my game',
        config: {
          sandbox_enabled: 'yes',
          webhook_url: 'ftp://example.com',
          webhook_secret: 'secret-that-is-too-long'.repeat(100),
          allowed_currencies: ['USD', 'usd'],
          custom_settings: [],
        },
      }),
      'name',
      'bundle_id',
      'platform',
      'status',
      'dlscheme',
      'config.sandbox_enabled',
      'config.webhook_url',
      'config.webhook_secret',
      'config.allowed_currencies[1]',
      'config.custom_settings',
    ),
    absent: (world) => [...everything(world), 'secret-that-is-too-long'],
  },
  {
    name: "8: the account of another's key is 400",
    ...projectRefused(({ stranger }) => ({ account_id: stranger.account_id }), 'account_id'),
  },
  {
    name: 'POST /projects: an unknown account is 400',
    ...projectRefused(() => ({ account_id: 'acc_unknown' }), 'account_id'),
  },
  {
    name: 'POST /projects: config is not null',
    ...projectRefused(() => ({ config: null }), 'config'),
  },
]

const fullConfig = {
  sandbox_enabled: true,
  webhook_url: 'https://example.com/hook?a=1',
  webhook_secret: 'whsec-just-sent',
  allowed_currencies: ['USD', 'RUB'],
  custom_settings: { feature_flags: { trees: [1, 2.5, 'x'] } },
  our_own: 'kept',
}

function projectBody({ project, account, public_key }: World, change: object = {}) {
  return {
    id: project.id,
    account_id: account.account_id,
    name: 'Game',
    bundle_id: 'com.example.game',
    platform: 'mobile',
    status: 'active',
    public_key,
    config: {},
    ...change,
  }
}

function changeRefused(
  change: (world: World) => object,
  ...fields: string[]
): Omit<Scenario, 'name'> {
  return {
    send: (world) => ['PUT /api/v1/projects', { token: world.token, json: change(world) }],
    problem: [400, 'invalid_request', ...fields],
    absent: everything,
  }
}

const updateProject: Scenario[] = [
  {
    name: 'PUT /projects: the id alone changes nothing and shows the project without its secret',
    send: ({ token, project }) => ['PUT /api/v1/projects', { token, json: { id: project.id } }],
    body: (world) => projectBody(world),
    absent: (world) => [...allSecrets(world), 'webhook_secret', 'dlscheme', 'created_at'],
  },
  {
    name: 'PUT /projects: changes name, platform and config, and ignores status and all other fields',
    send: ({ token, project }) => [
      'PUT /api/v1/projects',
      {
        token,
        json: {
          id: project.id,
          name: 'New Game',
          platform: 'ios',
          config: { a: 1 },
          status: 'archived',
          bundle_id: 'com.example.other',
          account_id: 'acc_other',
          public_key: 'pk_other',
        },
      },
    ],
    body: (world) => projectBody(world, { name: 'New Game', platform: 'ios', config: { a: 1 } }),
    absent: (world) => [...allSecrets(world), 'archived', 'acc_other', 'pk_other'],
  },
  {
    name: 'PUT /projects: a status is not validated',
    send: ({ token, project }) => [
      'PUT /api/v1/projects',
      { token, json: { id: project.id, status: 7 } },
    ],
    body: (world) => projectBody(world),
    absent: allSecrets,
  },
  {
    name: 'PUT /projects: returns the secret that this request sent',
    send: ({ token, project }) => [
      'PUT /api/v1/projects',
      { token, json: { id: project.id, config: { webhook_secret: 'just-sent' } } },
    ],
    body: (world) => projectBody(world, { config: { webhook_secret: 'just-sent' } }),
    absent: allSecrets,
  },
  {
    name: 'PUT /projects: null removes the secret',
    send: ({ token, project }) => [
      'PUT /api/v1/projects',
      { token, json: { id: project.id, config: { webhook_secret: null, b: 2 } } },
    ],
    body: (world) => projectBody(world, { config: { b: 2 } }),
    absent: (world) => [...allSecrets(world), 'webhook_secret'],
  },
  { name: 'PUT /projects: the id is required', ...changeRefused(() => ({ name: 'New' }), 'id') },
  {
    name: 'PUT /projects: an unknown project is 400',
    ...changeRefused(() => ({ id: 'prj_unknown' }), 'id'),
  },
  {
    name: 'PUT /projects: a foreign project is 400',
    ...changeRefused(({ foreign }) => ({ id: foreign.id }), 'id'),
  },
  {
    name: 'PUT /projects: another project of the same account is 400',
    ...changeRefused(({ sibling }) => ({ id: sibling.id }), 'id'),
  },
  {
    name: 'PUT /projects: names all invalid fields at once',
    ...changeRefused(
      () => ({ id: 1, name: '', platform: 'tv', config: { webhook_url: 'x', currency: 1 } }),
      'id',
      'name',
      'platform',
      'config.webhook_url',
    ),
  },
  {
    name: 'PUT /projects: an account key is not a token',
    send: ({ account_key, project }) => [
      'PUT /api/v1/projects',
      { account_key, json: { id: project.id } },
    ],
    problem: [401, 'token_required'],
    absent: everything,
  },
  ...tokenScenarios(9, ({ token, project }) => [
    'PUT /api/v1/projects',
    { token, json: { id: project.id, name: 'Stolen' } },
  ]),
]

/** A store that `POST /stores` accepts, and its answer. */
function storeAccepted(name: string, sent: object, answered: object): Scenario {
  return {
    name: `POST /stores: ${name}`,
    send: ({ account_key, project }) => [
      'POST /api/v1/stores',
      { account_key, json: { project_id: project.id, ...sent } },
    ],
    body: ({ project }) => ({
      store_id: /^str_\w+$/,
      project_id: project.id,
      is_sandbox: false,
      status: 'active',
      store_config: {},
      ...answered,
    }),
    absent: (world) => [...allSecrets(world), 'account_id', 'created_at'],
  }
}

function storeRefused(
  change: (world: World) => object,
  ...fields: string[]
): Omit<Scenario, 'name'> {
  return {
    send: (world) => [
      'POST /api/v1/stores',
      {
        account_key: world.account_key,
        json: { project_id: world.project.id, store_type: 'web', ...change(world) },
      },
    ],
    problem: [400, 'invalid_request', ...fields],
    absent: everything,
  }
}

const webConfig = {
  currency: 'EUR',
  webhook_enabled: true,
  webhook_url: 'http://example.com/',
  payment_methods: ['card', 'wallet'],
  return_url: 'mygame://paid',
  cancel_url: 'https://example.com/cancelled',
  test_mode: true,
  own: null,
}

const iapConfig = {
  platform: 'google_play',
  bundle_id: 'com.example.game',
  shared_secret: 'just-sent-1',
}

const createStore: Scenario[] = [
  storeAccepted(
    'generates a store_id when none is sent',
    { store_type: 'web' },
    { store_type: 'web' },
  ),
  {
    ...storeAccepted(
      'accepts every field of a web store and ignores an unknown one',
      {
        store_id: 'my-Store_1',
        store_type: 'web',
        is_sandbox: true,
        status: 'beta',
        store_config: webConfig,
        country: 'FI',
      },
      {
        store_id: 'my-Store_1',
        store_type: 'web',
        is_sandbox: true,
        status: 'beta',
        store_config: webConfig,
      },
    ),
    absent: ({ account_key }) => [account_key, 'country'],
  },
  storeAccepted(
    'returns the shared_secret that this request sent',
    { store_type: 'iap', store_config: iapConfig },
    { store_type: 'iap', store_config: iapConfig },
  ),
  storeAccepted(
    'returns the api_key that this request sent',
    { store_type: 'custom', store_config: { provider: 'Acme', api_key: 'just-sent-2' } },
    { store_type: 'custom', store_config: { provider: 'Acme', api_key: 'just-sent-2' } },
  ),
  storeAccepted(
    'a store_id of another account can be used',
    { store_id: 'theirs', store_type: 'web' },
    { store_id: 'theirs', store_type: 'web' },
  ),
  {
    name: 'POST /stores: without an account key it is 401',
    send: ({ project }) => [
      'POST /api/v1/stores',
      { json: { project_id: project.id, store_type: 'web' } },
    ],
    problem: [401, 'account_key_required'],
    headers: { 'www-authenticate': /^AccountKey / },
    absent: everything,
  },
  {
    name: 'POST /stores: names all missing fields at once',
    send: ({ account_key }) => ['POST /api/v1/stores', { account_key, json: {} }],
    problem: [400, 'invalid_request', 'project_id', 'store_type'],
    absent: everything,
  },
  {
    name: 'POST /stores: names all invalid fields at once, those of store_config by path',
    ...storeRefused(
      () => ({
        project_id: 7,
        store_id: 'a b',
        is_sandbox: 'true',
        status: 'x'.repeat(65),
        store_config: {
          currency: 'usd',
          webhook_enabled: 1,
          webhook_url: '/hook',
          payment_methods: 'card',
          return_url: 'javascript:alert(1)',
          cancel_url: 'cancelled',
        },
      }),
      'project_id',
      'store_id',
      'is_sandbox',
      'status',
      'store_config.currency',
      'store_config.webhook_enabled',
      'store_config.webhook_url',
      'store_config.payment_methods',
      'store_config.return_url',
      'store_config.cancel_url',
    ),
  },
  ...['app_store', 'epic_game_store', 'steam', 'fax'].map((platform) => ({
    name: `POST /stores: the iap platform ${platform} is refused`,
    ...storeRefused(
      () => ({ store_type: 'iap', store_config: { platform } }),
      'store_config.platform',
    ),
  })),
  {
    name: 'POST /stores: an existing store_id is 400',
    ...storeRefused(() => ({ store_id: 'main' }), 'store_id'),
  },
  {
    name: "10: a store_id is taken by another project's store too",
    ...storeRefused(() => ({ store_id: 'siblings' }), 'store_id'),
  },
  {
    name: 'POST /stores: an unknown project is 400',
    ...storeRefused(() => ({ project_id: 'prj_unknown' }), 'project_id'),
  },
  {
    name: 'POST /stores: a foreign project is 400',
    ...storeRefused(({ foreign }) => ({ project_id: foreign.id }), 'project_id'),
  },
  ...['Web', 'toString', 7, null].map((store_type) => ({
    name: `POST /stores: the type ${JSON.stringify(store_type)} is refused`,
    ...storeRefused(() => ({ store_type }), 'store_type'),
  })),
]

const scenarios: readonly Scenario[] = [
  ...accessToken,
  ...sessionScenarios(`POST ${AUTH}/init`, initBody),
  ...sessionScenarios(`POST ${AUTH}/token`, () => session),
  ...createItem,
  ...listItems,
  ...getItem,
  ...importPurchases,
  ...createProjects,
  ...updateProject,
  ...createStore,
]

test('the ten endpoints', async (t) => {
  const server = await startServer(t)
  // Refused requests change nothing, so all of them use the same world.
  const unchanged = await setUp(server.till)
  for (const scenario of scenarios) {
    await t.test(scenario.name, async () => {
      const world = scenario.problem ? unchanged : await setUp(server.till)

      const reply = await server.send(...scenario.send(world))

      assertOutcome(reply, scenario, world)
      const shown = `${JSON.stringify([...reply.headers])} ${reply.text}`
      for (const text of scenario.absent(world)) assert.ok(!shown.includes(text), `shows ${text}`)
      const logged = JSON.stringify(server.log.splice(0))
      for (const text of secretsOf(world)) assert.ok(!logged.includes(text), `logs ${text}`)
    })
  }
})

function assertOutcome(
  reply: Reply,
  { body, headers = {}, problem }: Scenario,
  world: World,
): void {
  if (body) {
    assert.equal(reply.status, 200, reply.text)
    assert.equal(reply.headers.get('content-type'), 'application/json')
    assertShape(reply.json(), body(world))
  }
  if (problem) {
    const [status, code, ...fields] = problem
    const { errors = [] } = assertProblem(reply, status, code)
    assert.deepEqual(errors.map(({ field }) => field).sort(), [...fields].sort())
  }
  for (const [name, expected] of Object.entries(headers)) {
    assert.match(reply.headers.get(name) ?? '', expected)
  }
}

function secretsOf({ account_key, public_key, token }: World): string[] {
  return [account_key, public_key, token, ...Object.values(SECRETS), 'just-sent', 'Game', 'Potion']
}

/** Asserts exactly the expected keys at every level; a pattern matches a string. */
function assertShape(actual: unknown, expected: unknown, path = 'body'): void {
  if (expected instanceof RegExp) {
    assert.match(actual as string, expected, path)
  } else if (typeof expected === 'object' && expected !== null) {
    assert.equal(Array.isArray(actual), Array.isArray(expected), path)
    const found = actual as { [key: string]: unknown }
    assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort(), path)
    for (const [key, value] of Object.entries(expected)) {
      assertShape(found[key], value, `${path}.${key}`)
    }
  } else {
    assert.strictEqual(actual, expected, path)
  }
}

test('each field error has a code', async (t) => {
  const { till, send } = await startServer(t, { storage: createMemoryStorage() })
  const { account_key, project } = await setUp(till)
  const rows: readonly [request: string, json: object, field: string, code: string][] = [
    ['POST /api/v1/items', { ...newItem, name: 'gold' }, 'name', 'taken'],
    ['POST /api/v1/items', { ...newItem, store_id: 'x' }, 'store_id', 'unknown'],
    ['POST /api/v1/items', { ...newItem, type: undefined }, 'type', 'required'],
    ['POST /api/v1/items', { ...newItem, price: 1 }, 'price', 'invalid'],
    [
      'POST /api/v1/stores',
      { project_id: project.id, store_type: 'web', store_id: 'main' },
      'store_id',
      'taken',
    ],
    [
      'POST /api/v1/stores',
      { project_id: project.id, store_type: 'iap', store_config: { platform: 'steam' } },
      'store_config.platform',
      'unsupported',
    ],
  ]
  for (const [request, json, field, code] of rows) {
    const problem = assertProblem(
      await send(request, { account_key, json }),
      400,
      'invalid_request',
    )
    assert.deepEqual(
      problem.errors?.map((error) => [error.field, error.code]),
      [[field, code]],
    )
  }
})

test('a created item is read back unchanged', async (t) => {
  const { till, send } = await startServer(t)
  const { account_key, token } = await setUp(till)
  const meta = `{"deep":${JSON.stringify(nested(31))},"list":[null,true,0.1,-1,"é😀",""],"__proto__":{"a":1}}`
  const body = `${JSON.stringify({ ...newItem, price: '9007199254740991' }).slice(0, -1)},"meta":${meta}}`

  const created = await send('POST /api/v1/items', { account_key, body })
  const { id } = created.json<{ id: string }>()
  const read = await send(`GET /api/v1/items/${id}`, { token })
  const list = await send('GET /api/v1/items?store_id=main', { token })

  const { metadata: kept, ...item } = read.json<{ metadata: object }>()
  assert.deepEqual(item, {
    id,
    name: 'potion_2',
    display_name: 'Potion',
    description: '',
    price: 9007199254740991,
    type: 'consumable',
    store_id: 'main',
  })
  assert.equal(JSON.stringify(kept), meta)
  assert.ok(list.text.endsWith(`${read.text}]}`), 'a new item is the last one')
})

test('items are listed in order of creation', async (t) => {
  const { till, send } = await startServer(t)
  const { account_key, token } = await setUp(till)
  const names = ['zinc', 'apple', 'Mango', '_', '10', '9']

  for (const name of names)
    await send('POST /api/v1/items', { account_key, json: { ...newItem, name } })
  const { items } = (await send('GET /api/v1/items?store_id=main', { token })).json<{
    items: { name: string }[]
  }>()

  assert.deepEqual(
    items.map(({ name }) => name),
    ['gold', ...names],
  )
})

test('an account key is enough to create a project, its public key, a store, an item and a session', async (t) => {
  const { till, send } = await startServer(t)
  const { account_id, account_key } = await till.accounts.create({ name: 'New' })
  const named = { name: 'G', bundle_id: 'com.example.g', platform: 'web', dlscheme: 'g' }

  const project = await send('POST /api/v1/projects', {
    account_key,
    json: { account_id, ...named },
  })
  const { id: project_id } = project.json<{ id: string }>()
  const public_key = project.headers.get('x-public-project-key') ?? ''
  const store = await send('POST /api/v1/stores', {
    account_key,
    json: { project_id, store_type: 'web' },
  })
  const { store_id } = store.json<{ store_id: string }>()
  await send('POST /api/v1/items', { account_key, json: { ...newItem, store_id } })
  const opened = await send(`POST ${AUTH}/init`, { public_key, json: { user_id: 'u' } })
  const { session, ...shown } = opened.json<{ session: { token: string } }>()
  const list = await send(`GET /api/v1/items?store_id=${store_id}`, session)

  assert.deepEqual(shown, {
    project: { id: project_id, ...named, status: 'active' },
    stores: [{ id: store_id, store_type: 'web', is_sandbox: false, status: 'active' }],
  })
  assert.deepEqual(
    list.json<{ items: { name: string }[] }>().items.map(({ name }) => name),
    ['potion_2'],
  )
})

test('all three endpoints issue bearer tokens with their expiry', async (t) => {
  let now = Date.UTC(2030, 0, 1, 12)
  const { till, send } = await startServer(t, {
    storage: createMemoryStorage(),
    now: () => now,
  })
  const { public_key, project } = await setUp(till)
  const json = { user_id: 'player' }
  const one = await send(`GET ${AUTH}/access-token`, { public_key })
  const two = await send(`POST ${AUTH}/init`, { public_key, json })
  const three = await send(`POST ${AUTH}/token`, { public_key, json })
  const issued = [
    { token: one.json<{ access_token: string }>().access_token, sub: project.id },
    { ...two.json<{ session: { token: string; expires_at: string } }>().session, sub: 'player' },
    { ...three.json<{ token: string; expires_at: string }>(), sub: 'player' },
  ]

  for (const { token, sub, ...rest } of issued) {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    assert.deepEqual(
      [claims.sub, claims.exp, claims.project_id],
      [sub, Date.UTC(2030, 0, 1, 13) / 1000, project.id],
    )
    if ('expires_at' in rest) assert.equal(rest.expires_at, '2030-01-01T13:00:00Z')
    assert.equal((await send('GET /api/v1/items?store_id=main', { token })).status, 200)
  }
  now = Date.UTC(2030, 0, 1, 13, 0, 6)
  for (const { token } of issued) {
    const reply = await send('GET /api/v1/items?store_id=main', { token })
    assertProblem(reply, 401, 'token_required')
  }
})

test('a stored secret is returned only to the request that sent it', async (t) => {
  const { till, send } = await startServer(t)
  const world = await setUp(till)
  const { account_key, public_key, token, project } = world
  const put = (json: object) =>
    send('PUT /api/v1/projects', { token, json: { id: project.id, ...json } })

  const replies = [
    await put({}),
    await put({ config: { a: 1 } }),
    await put({ name: 'Other' }),
    await send(`POST ${AUTH}/init`, { public_key, json: { user_id: 'u' } }),
    await send('POST /api/v1/stores', {
      account_key,
      json: { project_id: project.id, store_type: 'web', store_id: 'mods' },
    }),
    await send('GET /api/v1/items?store_id=mods', { token }),
  ]
  const kept = (await collect(till.projects.all(world.account)))[0]
  const inStorage = await put({ config: { webhook_secret: null } })

  for (const reply of replies) {
    for (const secret of Object.values(SECRETS)) assert.ok(!reply.text.includes(secret), reply.text)
  }
  assert.deepEqual(kept?.config, { a: 1 })
  assert.deepEqual(inStorage.json<{ config: object }>().config, {})
})

test('a config without the secret keeps the stored one, and null removes it', async (t) => {
  const storage = createMemoryStorage()
  const { till, send } = await startServer(t, { storage })
  const { token, project } = await setUp(till)
  const configs: [sent: object, kept: object][] = [
    [{ a: 1 }, { a: 1, webhook_secret: SECRETS.webhook_secret }],
    [
      { b: 2, webhook_secret: 'new' },
      { b: 2, webhook_secret: 'new' },
    ],
    [{}, { webhook_secret: 'new' }],
    [{ webhook_secret: null }, {}],
    [{ c: 3 }, { c: 3 }],
  ]
  for (const [config, kept] of configs) {
    await send('PUT /api/v1/projects', { token, json: { id: project.id, config } })
    assert.deepEqual((await storage.findProject(project.id))?.config, kept)
  }
})

test('a disabled or archived project opens no session, and its tokens fail', async (t) => {
  const { till, send } = await startServer(t)
  const { account, public_key, token, project } = await setUp(till)
  const list = () => send('GET /api/v1/items?store_id=main', { token })
  const open = () => send(`POST ${AUTH}/init`, { public_key, json: { user_id: 'u' } })

  for (const status of ['disabled', 'archived']) {
    await till.projects.update(account, { id: project.id, status })
    assertProblem(await open(), 400, 'project_inactive')
    assertProblem(await list(), 401, 'token_required')
  }
  await till.projects.update(account, { id: project.id, status: 'sleepy' })
  assert.deepEqual([(await open()).status, (await list()).status], [200, 200])
})

test('a foreign and an unknown record get the same answer except for the request id', async (t) => {
  const { till, send } = await startServer(t)
  const world = await setUp(till)
  const { account_key, token, project, stranger, sibling, foreign } = world
  const item = (store_id: string): Request => [
    'POST /api/v1/items',
    { account_key, json: { ...newItem, store_id } },
  ]
  const list = (store_id: string): Request => [`GET /api/v1/items?store_id=${store_id}`, { token }]
  const get = (id: string): Request => [`GET /api/v1/items/${id}`, { token }]
  const load = (store_id: string): Request => [
    'POST /api/v1/purchases/import',
    { token, body: importForm(CSV, { store_id }) },
  ]
  const create = (account_id: string): Request => [
    'POST /api/v1/projects',
    { account_key, json: { ...newProject(world), account_id } },
  ]
  const change = (id: string): Request => ['PUT /api/v1/projects', { token, json: { id } }]
  const store = (project_id: string): Request => [
    'POST /api/v1/stores',
    { account_key, json: { project_id, store_type: 'web' } },
  ]
  const pairs: readonly (readonly [unknown: Request, hidden: Request])[] = [
    [item('nowhere'), item('theirs')],
    [list('nowhere'), list('theirs')],
    [list('nowhere'), list('siblings')],
    [get('itm_unknown'), get(world.foreignItem.id)],
    [get('itm_unknown'), get(world.siblingItem.id)],
    [load('nowhere'), load('theirs')],
    [load('nowhere'), load('siblings')],
    [create('acc_unknown'), create(stranger.account_id)],
    [change('prj_unknown'), change(foreign.id)],
    [change('prj_unknown'), change(sibling.id)],
    [store('prj_unknown'), store(foreign.id)],
  ]

  for (const [unknown, hidden] of pairs) {
    const [first, second] = [await send(...unknown), await send(...hidden)]

    assert.deepEqual(withoutRequestId(second), withoutRequestId(first))
    assert.notEqual(first.status, 200, first.text)
    assert.notEqual(first.headers.get('x-request-id'), second.headers.get('x-request-id'))
  }
  assert.deepEqual(
    (await collect(till.projects.all(world.account))).map(({ id }) => id).includes(project.id),
    true,
  )
})

function withoutRequestId({ status, headers, text }: Reply): unknown {
  const id = headers.get('x-request-id') ?? ''
  const rest = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
  return { status, headers: rest, text: text.replace(id, 'ID') }
}

/** For each endpoint, a storage method that it calls. */
const faults: readonly (readonly [verb: keyof Storage, send: (world: World) => Request])[] = [
  ['findProjectByPublicKey', ({ public_key }) => [`GET ${AUTH}/access-token`, { public_key }]],
  [
    'listStoreSummaries',
    ({ public_key }) => [`POST ${AUTH}/init`, { public_key, json: { user_id: 'player' } }],
  ],
  [
    'findProjectByPublicKey',
    ({ public_key }) => [`POST ${AUTH}/token`, { public_key, json: { user_id: 'player' } }],
  ],
  ['insertItem', ({ account_key }) => ['POST /api/v1/items', { account_key, json: newItem }]],
  ['listItems', ({ token }) => ['GET /api/v1/items?store_id=main', { token }]],
  ['findItem', ({ token, item }) => [`GET /api/v1/items/${item.id}`, { token }]],
  [
    'openImport',
    ({ token }) => ['POST /api/v1/purchases/import', { token, body: importForm(CSV) }],
  ],
  [
    'insertProject',
    (world) => [
      'POST /api/v1/projects',
      { account_key: world.account_key, json: newProject(world) },
    ],
  ],
  [
    'updateProject',
    ({ token, project }) => ['PUT /api/v1/projects', { token, json: { id: project.id } }],
  ],
  [
    'insertStore',
    ({ account_key, project }) => [
      'POST /api/v1/stores',
      { account_key, json: { project_id: project.id, store_type: 'web' } },
    ],
  ],
]

for (const [verb, send] of faults) {
  test(`an unexpected error in the storage method ${verb} is 500 without its cause`, async (t) => {
    const storage = createMemoryStorage()
    const { till, ...server } = await startServer(t, { storage })
    const world = await setUp(till)
    const request = send(world)
    Object.assign(storage, {
      async [verb]() {
        throw new Error('password=hunter2 at db.internal')
      },
    })

    const reply = await server.send(...request)

    const problem = assertProblem(reply, 500, 'internal_error')
    for (const text of ['hunter2', 'db.internal', 'Error:', '.ts:', verb]) {
      assert.ok(!reply.text.includes(text), reply.text)
    }
    const entry = await server.entryOf(problem.request_id)
    assert.deepEqual([entry.status, entry.level], [500, 'error'])
    assert.match(entry.error ?? '', /hunter2/)
    assert.equal(`${entry.method} ${entry.route}`, routeOf(request))
    const logged = JSON.stringify(server.log)
    for (const text of secretsOf(world)) assert.ok(!logged.includes(text), `logs ${text}`)
    assert.equal((await server.send('GET /healthz')).status, 200)
  })
}

function routeOf([request]: Request): string {
  return (request.split('?')[0] ?? '').replace(/itm_\w+$/, ':item_id')
}

test('an unavailable storage is 503 with Retry-After', async (t) => {
  const storage = createMemoryStorage()
  const { till, send } = await startServer(t, { storage })
  const { account_key } = await setUp(till)
  storage.insertItem = async () => {
    throw new TillError('storage_unavailable', 'The database is locked')
  }

  const reply = await send('POST /api/v1/items', { account_key, json: newItem })

  assertProblem(reply, 503, 'storage_unavailable')
  assert.match(reply.headers.get('retry-after') ?? '', /^\d+$/)
})

test('a well-formed request id of the client is used, else a new one', async (t) => {
  const { send, entryOf } = await startServer(t, { storage: createMemoryStorage() })
  const given = ['a', 'A-z_0', 'x'.repeat(64)]
  const refused = ['', 'a b', 'x'.repeat(65), '"quoted"', 'é', '../etc', '<script>']

  for (const path of ['/healthz', '/nowhere', '/api/v1/items']) {
    for (const id of given) {
      const reply = await send(`GET ${path}`, { headers: { 'x-request-id': id } })
      assert.equal(reply.headers.get('x-request-id'), id)
      assert.equal((await entryOf(id)).request_id, id)
    }
    for (const id of refused) {
      const reply = await send(`GET ${path}`, { headers: { 'x-request-id': id } })
      const made = reply.headers.get('x-request-id') ?? ''
      assert.match(made, /^[\da-f-]{36}$/)
      assert.equal((await entryOf(made)).request_id, made)
    }
  }
})

const withBody = [
  ['POST /api/v1/items', 401, 'account_key_required'],
  ['POST /api/v1/purchases/import', 401, 'token_required'],
  ['POST /api/v1/projects', 401, 'account_key_required'],
  ['PUT /api/v1/projects', 401, 'token_required'],
  ['POST /api/v1/stores', 401, 'account_key_required'],
  [`POST ${AUTH}/init`, 400, 'invalid_public_key'],
  [`POST ${AUTH}/token`, 400, 'invalid_public_key'],
] as const

for (const [request, status, code] of withBody) {
  test(`${request} verifies the credential before it reads the body`, async (t) => {
    const { connect, send } = await startServer(t, { storage: createMemoryStorage() })
    const heads = [
      'content-type: application/json',
      'content-type: text/plain',
      'content-type: multipart/form-data',
      'content-encoding: gzip',
    ]

    for (const head of heads) {
      const client = await connect()
      // Announces a megabyte, more than is allowed, and sends none of it.
      client.write(
        `${request} HTTP/1.1\r\nhost: test\r\n${head}\r\ncontent-length: 1048576\r\n\r\n`,
      )
      assertProblem(await client.reply(), status, code)
    }
    const broken = await send(request, { body: '{' })
    assertProblem(broken, status, code)
  })
}

test('the type and size of a body are checked only after the credential', async (t) => {
  const { till, send, connect } = await startServer(t, { storage: createMemoryStorage() })
  const { account_key, token } = await setUp(till)
  const typed = (type: string) => ({ account_key, body: '{', headers: { 'content-type': type } })

  assertProblem(
    await send('POST /api/v1/items', typed('text/plain')),
    415,
    'unsupported_media_type',
  )
  assertProblem(await send('POST /api/v1/items', typed('application/json')), 400, 'invalid_request')
  const client = await connect()
  client.write(
    rawRequest('PUT /api/v1/projects', [
      `authorization: Bearer ${token}`,
      'content-length: 1048576',
      'content-type: application/json',
    ]),
  )
  assertProblem(await client.reply(), 413, 'body_too_large')
})
