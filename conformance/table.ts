import type { Answer } from './client.ts'
import {
  createTools,
  type EndpointRows,
  expect,
  expectFields,
  expectValues,
  REFUSED_IMPORT,
  type Row,
  rowsOf,
  type Tools,
} from './rows.ts'
import { holds, isObject, valueAt } from './shape.ts'
import { TOKENS, type World } from './world.ts'

const DEVICE = {
  device_id: 'device-1',
  platform: 'android',
  os_version: '15',
  app_version: '1.0.0',
}

/** The rows that the three endpoints with a token in their answer share. */
function tokenRows({ row }: Tools): Row[] {
  return [
    row('returns a token that endpoint 5 accepts', 'Authentication: rule 2', {
      async judge({ endpoint, body }, { call, store }) {
        const value = valueAt(body, ...(TOKENS[endpoint] ?? []))
        if (typeof value !== 'string') return // the first row reports it
        const credential = { value, shown: '$TOKEN' }
        const list = await call(5, { query: `?store_id=${await store()}`, credential })
        expect(list.status <= 299, 'status 2XX', list)
      },
    }),
  ]
}

const TOLERANCE_MS = 60_000

/** Expects `expires_at` to be `expires_in_seconds` after the `Date` of the answer. */
function expectAgreement(answer: Answer): void {
  const session = (TOKENS[answer.endpoint] ?? []).slice(0, -1)
  const at = Date.parse(String(valueAt(answer.body, ...session, 'expires_at')))
  const left = Number(valueAt(answer.body, ...session, 'expires_in_seconds')) * 1000
  const now = Date.parse(answer.headers.get('date') ?? '') || Date.now()
  const difference = Math.abs(at - now - left)
  // A missing field or a wrong type gives NaN, which is accepted here: the first row reports it.
  const isNear = Number.isNaN(difference) || difference <= TOLERANCE_MS
  expect(isNear, 'expires_at and expires_in_seconds within 60 s', answer)
}

/** `POST …/init` and `POST …/token` differ only in their answers. */
function sessionRows(number: 2 | 3, ownRows: EndpointRows['rows'] = () => []): EndpointRows {
  return {
    number,
    kept: ['public_key'],
    request: async ({ newSession }) => ({
      json: { ...newSession(), device_info: DEVICE, dlscheme: 'conformance' },
    }),
    unusual: (user_id) => ({ user_id }),
    rows: (tools, open) => [
      ...tokenRows(tools),
      tools.row('returns two times that agree', 'Resources: Session', { judge: expectAgreement }),
      ...ownRows(tools, open),
      open.accepts('empty texts for what is not known', ': request body', {
        public_key: '',
        device_info: { device_id: '', platform: '', os_version: '', app_version: '' },
        dlscheme: '',
      }),
      open.accepts('a dlscheme with ://', ': dlscheme', { dlscheme: 'mygame://' }),
      open.refuses('deviceInfo, which means device_info', ': request body', { deviceInfo: DEVICE }),
      open.accepts('the public key in the header alone', ': public_key', { public_key: undefined }),
      open.refuses('a public key that differs from the header', ': public_key', {
        public_key: 'another-key',
      }),
    ],
  }
}

const PRICE = 'Resources: Item, price rules'
const NAME = 'Resources: Item, name rules'
const UNIQUENESS = 'Limits: item name uniqueness'

/** Expects an item in an answer to have the values of its `POST /items`. */
function expectItem(
  answer: Answer,
  { id, sent }: Awaited<ReturnType<World['item']>>,
  item: unknown,
) {
  const { meta = {}, price, ...values } = { meta: {}, ...sent }
  expectValues(answer, { ...values, id, price: Number(price), metadata: meta }, item)
}

const listQuery = (store_id: string) => ({
  query: `?store_id=${encodeURIComponent(store_id.toWellFormed())}`,
})
const findItem = ({ body }: Answer, id: string) => {
  const items = valueAt(body, 'items')
  return Array.isArray(items) ? items.find((each) => valueAt(each, 'id') === id) : undefined
}
const itemPath = (id: string) => ({ item_id: encodeURIComponent(id.toWellFormed()) })

/**
 * The `config` of a project. Leaves out the keys for webhooks, because they could make the server
 * send messages.
 */
const CONFIG = {
  sandbox_enabled: true,
  allowed_currencies: ['EUR', 'USD'],
  custom_settings: { feature_flags: { nested: [1, { two: true }] } },
}

/** The stored configuration of the project, with other `custom_settings`. */
async function newConfig({ original }: World) {
  const { config } = await original()
  return { ...(isObject(config) ? config : {}), custom_settings: CONFIG.custom_settings }
}

const ACCESS = 'Errors: 400, 401'

/** The row about the status of a new project or store. */
const returnsActive = ({ returns }: Tools) =>
  returns('the status active by default', 'States', { status: undefined }, { status: 'active' })

const STORE_KEYS = 'Resources: Store, store_config keys'
const COMMON = { currency: 'EUR', webhook_enabled: false, webhook_url: 'https://shop.example/hook' }

/** The `store_config` of each store type. Leaves out secrets, because a server may hide them. */
const STORE_CONFIGS = {
  iap: { ...COMMON, platform: 'google_play', bundle_id: 'com.example.game' },
  web: {
    ...COMMON,
    payment_methods: ['card', 'wallet'],
    return_url: 'https://shop.example/return',
    cancel_url: 'https://shop.example/cancel',
  },
  custom: { ...COMMON, provider: 'example' },
}

const TABLE: readonly EndpointRows[] = [
  {
    number: 1,
    request: async () => ({}),
    unusual: (text) => ({
      credential: { value: encodeURIComponent(text.toWellFormed()), shown: 'UNUSUAL_TEXT' },
    }),
    rows: tokenRows,
  },

  sessionRows(2, ({ row }) => [
    row('lists a new store, with store_id as id', 'Resources: Store, store_id', {
      async call({ createStore, newSession }) {
        const changed = [await createStore({ store_type: 'custom', is_sandbox: true })]
        return { json: newSession(), changed }
      },
      judge(answer, _, { changed: [id] = [] }) {
        const store = { id, store_type: 'custom', is_sandbox: true }
        const stores = valueAt(answer.body, 'stores')
        const isListed = Array.isArray(stores) && stores.some((each) => holds(each, store))
        expect(isListed || stores === undefined, `a store ${JSON.stringify(store)}`, answer)
      },
    }),
  ]),

  sessionRows(3),

  {
    number: 4,
    request: async ({ newItem }) => ({
      json: {
        ...(await newItem()),
        display_name: 'Stück 💰',
        description: '"quoted" text',
        meta: { tags: ['a', 'b'] },
      },
    }),
    unusual: (display_name) => ({ display_name }),
    rows: ({ accepts, refuses }, open) => [
      ...['4.99', '-499', 'free', ''].map((price) =>
        refuses(`the price ${JSON.stringify(price)}`, PRICE, { price }),
      ),
      refuses('an array as meta', 'Resources: Item, meta', { meta: ['a'] }),
      refuses('an unknown store', 'Errors: 400', ({ unique }) => ({ store_id: unique() })),
      {
        ...refuses('a name that its store has', UNIQUENESS, async ({ item }) => {
          const { name, store_id } = (await item()).sent
          return { name, store_id }
        }),
        fields: ['name'],
      },
      accepts('a name that another store has', UNIQUENESS, async ({ item, createStore }) => {
        const { name } = (await item()).sent
        return { name, store_id: await createStore() }
      }),
      open.refuses('displayName, which means display_name', ': request body', {
        displayName: 'Gold',
      }),
      open.row('takes metadata for meta', 'Resources: Item, meta', {
        changes: { meta: undefined, metadata: { a: [1] } },
        async judge({ body }, { call }) {
          const read = await call(6, itemPath(String(valueAt(body, 'id'))))
          expectValues(read, { metadata: { a: [1] } })
        },
      }),
      open.refuses('a meta that differs from metadata', 'Resources: Item, meta', {
        metadata: { other: 1 },
      }),
      open.refuses('a name with a space', NAME, ({ unique }) => ({ name: `${unique()} 100` })),
      open.refuses('a name with letters that are not Latin', NAME, ({ unique }) => ({
        name: `${unique()}_золото`,
      })),
    ],
  },

  {
    number: 5,
    request: async ({ item }) => listQuery((await item()).sent.store_id),
    unusual: listQuery,
    rows: ({ row, refuses }, open) => [
      row('lists an item with the values that were sent', 'Resources: Item', {
        async judge(answer, { item }) {
          const created = await item()
          expectItem(answer, created, findItem(answer, created.id))
        },
      }),
      row('lists no item of another store', ': purpose', {
        changes: async ({ createStore }) => listQuery(await createStore()),
        async judge(answer, { item }) {
          const { id } = await item()
          expect(!findItem(answer, id), `no item with the id ${id}`, answer)
        },
      }),
      refuses('a request without store_id', ': query parameter', { query: '' }),
      open.row('lists only the item with the name in the query', ': query parameter', {
        async changes({ item }) {
          const { store_id, name } = (await item()).sent
          return { query: `${listQuery(store_id).query}&name=${name}` }
        },
        async judge(answer, { item }) {
          const { id } = await item()
          const items = valueAt(answer.body, 'items')
          const isAlone = Array.isArray(items) && items.length === 1
          expect(isAlone && findItem(answer, id) !== undefined, `only the item ${id}`, answer)
        },
      }),
      ...['offset', 'page', 'skip', 'page_size', 'per_page'].map((word) => ({
        ...open.refuses(`${word}, which does not page`, ': query parameter', async ({ item }) => ({
          query: `${listQuery((await item()).sent.store_id).query}&${word}=1`,
        })),
        fields: [word],
      })),
      open.refuses('an unknown store', 'Errors: 400', ({ unique }) => listQuery(unique())),
      open.refuses('a store of another project', 'Errors: 400', async ({ foreign }) =>
        listQuery((await foreign()).store_id),
      ),
    ],
  },

  {
    number: 6,
    request: async ({ item }) => itemPath((await item()).id),
    rows: ({ row, refuses }, open) => [
      row('returns an item that was created without optional fields', ': 200 response body', {
        changes: async ({ createItem }) => itemPath((await createItem()).id),
        judge: expectFields,
      }),
      row('returns the values that were sent', 'Resources: Item', {
        judge: async (answer, { item }) => expectItem(answer, await item(), answer.body),
      }),
      refuses('an unknown item', ': errors', ({ unique }) => itemPath(unique()), '404'),
      refuses('a malformed id', ': errors', { item_id: '%zz' }, '400', '404'),
      open.refuses(
        'an item of another project',
        ': errors',
        async ({ foreign }) => itemPath((await foreign()).item_id),
        '404',
      ),
    ],
  },

  {
    number: 7,
    /** The CSV columns are those of tillkit, because the specification names none. */
    request: async ({ item, unique }) => {
      const { store_id, name } = (await item()).sent
      const file = `transaction_id,sku,purchased_at\n${unique()},${name},2026-01-31T12:00:00Z\n`
      return { form: { store_id, file } }
    },
    rows: ({ row }, open) => [
      row('refuses a JSON body', ': content type', {
        statuses: REFUSED_IMPORT,
        call: async ({ store }) => ({ json: { store_id: await store(), file: 'a' } }),
      }),
      open.accepts('a file with the columns of tillkit', ': CSV column layout', {}),
      open.refuses('a file without known columns', ': errors', { file: 'a,b\n1,2\n' }),
      open.refuses('an unknown store', ': errors', ({ unique }) => ({ store_id: unique() })),
      open.refuses('a store of another project', ': errors', async ({ foreign }) => ({
        store_id: (await foreign()).store_id,
      })),
    ],
  },

  {
    number: 8,
    request: async ({ newProject }) => ({
      json: { ...(await newProject()), status: 'active', dlscheme: 'conformance', config: CONFIG },
    }),
    unusual: (name) => ({ name }),
    rows: ({ refuses }, open) => [
      refuses(
        'an unknown account',
        'Resources: Project, account_id',
        ({ unique }) => ({ account_id: unique() }),
        '400',
        '401',
      ),
      open.accepts('a dlscheme with ://', 'Resources: Project', { dlscheme: 'mygame://' }),
      open.refuses('bundleId, which means bundle_id', ': request body', { bundleId: 'com.a.b' }),
      open.refuses('a bundle_id that is no reverse domain', 'Resources: Project, bundle_id', {
        bundle_id: 'not a domain',
      }),
      returnsActive(open),
    ],
  },

  {
    number: 9,
    request: async (world) => {
      const { id, platform } = await world.original()
      return { json: { id, name: world.unique(), platform, config: await newConfig(world) } }
    },
    unusual: (name) => ({ name }),
    rows: ({ row, refuses }, open) => [
      row('returns the public key', ': 200 response body', {
        judge: (answer, { public_key }) => expectValues(answer, { public_key }),
      }),
      row('changes the fields that are sent', ': request body', {
        async judge({ body }, { call }, { json }) {
          expectValues(await call(9, { json: { id: valueAt(body, 'id') } }), json as object)
        },
      }),
      row('keeps the fields that are left out', ': request body', {
        async call(world) {
          const id = await world.project()
          await world.call(9, { json: { id, config: await newConfig(world) } })
          return { json: { id, name: world.unique() } }
        },
        async judge(answer, world) {
          const { id, account_id, bundle_id, platform } = await world.original()
          const config = await newConfig(world)
          expectValues(answer, { id, account_id, bundle_id, platform, config })
        },
      }),
      row('changes the name that endpoint 2 returns', ': purpose', {
        async judge(_, { call, newSession }, { json }) {
          const project = { id: valueAt(json, 'id'), name: valueAt(json, 'name') }
          expectValues(await call(2, { json: newSession() }), { project })
        },
      }),
      refuses('an unknown project', ACCESS, ({ unique }) => ({ id: unique() }), '400', '401'),
      open.refuses(
        'another project of the account',
        ACCESS,
        async ({ foreign }) => ({ id: (await foreign()).project_id }),
        '400',
        '401',
      ),
    ],
  },

  {
    number: 10,
    request: async ({ newStore }) => ({
      json: {
        ...(await newStore()),
        is_sandbox: true,
        status: 'active',
        store_config: { currency: 'EUR', test_mode: true },
      },
    }),
    unusual: (status) => ({ status }),
    rows: ({ row, refuses, returns }, open) => [
      ...Object.entries(STORE_CONFIGS).map(([store_type, store_config]) => {
        const values = { store_type, store_config }
        return returns(`the values that were sent for ${store_type}`, STORE_KEYS, values, values)
      }),
      returns(
        'false as is_sandbox by default',
        ': is_sandbox',
        { is_sandbox: undefined },
        { is_sandbox: false },
      ),
      row('generates a store_id', ': store_id', {
        changes: { store_id: undefined },
        judge: (answer) => expect(valueAt(answer.body, 'store_id') !== '', 'a store_id', answer),
      }),
      refuses('an unknown project', 'Errors: 400', ({ unique }) => ({ project_id: unique() })),
      open.accepts('a store_id with a dot', ': store_id', ({ unique }) => ({
        store_id: `${unique()}.eu`,
      })),
      open.refuses('isSandbox, which means is_sandbox', ': is_sandbox', { isSandbox: true }),
      open.refuses('a store_id that exists', ': store_id', async ({ store }) => ({
        store_id: await store(),
      })),
      ...['app_store', 'epic_game_store', 'steam'].map((platform) => ({
        ...open.refuses(`the iap platform ${platform}, which is not supported yet`, STORE_KEYS, {
          store_type: 'iap',
          store_config: { platform },
        }),
        fields: ['store_config.platform'],
      })),
      returnsActive(open),
    ],
  },
]

/** The functions that make rows of one endpoint. */
export function toolsOf(number: number): Tools {
  return createTools(TABLE[number - 1] as EndpointRows)
}

/** The rows of all endpoints. */
export function conformanceRows(): readonly Row[] {
  return TABLE.flatMap(rowsOf)
}
