import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type JsonObject, parseObject } from '../../lib/domain/fields.ts'
import { parseItemChange, parseNewItem } from '../../lib/domain/item.ts'
import {
  changeProject,
  type Project,
  parseNewProject,
  parseProjectChange,
} from '../../lib/domain/project.ts'
import { listFields } from '../../lib/domain/query.ts'
import { parseSessionRequest } from '../../lib/domain/session.ts'
import { isActive } from '../../lib/domain/status.ts'
import {
  parseNewStore,
  parseStoreChange,
  parseStoreId,
  type Store,
} from '../../lib/domain/store.ts'
import type { TillError } from '../../lib/errors.ts'
import { withoutSecrets } from '../../lib/services/secrets.ts'
import { problemsOf, testFields } from './problems.ts'

const ITEM = {
  ...{ store_id: 'main', name: 'gold', display_name: 'Gold', price: '499' },
  type: 'consumable',
}
const PROJECT = { account_id: 'acc_1', name: 'Game', bundle_id: 'com.example.game' }
const GAME = { ...PROJECT, platform: 'mobile' }
const STORE = { project_id: 'prj_1', store_type: 'web' }
const SESSION = { user_id: 'player' }
const KEY = 'pk_1'
const CONFIG = {
  sandbox_enabled: true,
  webhook_url: 'https://example.com/hook',
  webhook_secret: 'whs_1',
  allowed_currencies: ['USD', 'EUR'],
  custom_settings: { feature_flags: { shop: true } },
  anything: [{ else: null }],
}
const byAccount = (sent: object) => parseProjectChange(sent, 'account')
const bySession = (sent: object) => parseProjectChange(sent, 'session')
const session = (sent: object) => parseSessionRequest(sent, KEY)

type Parse = (input: object) => unknown
/** Inputs that are returned as they are, and the defaults of the fields that they leave out. */
const RETURNED: readonly [what: string, parse: Parse, sent: object, defaults?: object][] = [
  ['a new item', parseNewItem, ITEM, { price: 499, description: '', meta: {} }],
  [
    'a new item with all fields',
    parseNewItem,
    { ...ITEM, description: 'Shiny', meta: { tags: ['a', ['b']], nested: { deep: null } } },
    { price: 499 },
  ],
  ['a new project', parseNewProject, GAME, { status: 'active', dlscheme: '', config: {} }],
  [
    'a new project with all fields',
    parseNewProject,
    { ...GAME, status: 'beta', dlscheme: 'mygame', config: CONFIG },
  ],
  ['a change of nothing', bySession, { id: 'prj_1' }],
  [
    'a change of a session',
    bySession,
    { id: 'prj_1', name: 'New', platform: 'ios', config: CONFIG },
  ],
  ['a change of an account', byAccount, { id: 'prj_1', platform: 'ios', status: 'disabled' }],
  ['a new store', parseNewStore, STORE, { is_sandbox: false, status: 'active', store_config: {} }],
  [
    'a new store with all fields',
    parseNewStore,
    {
      ...{ ...STORE, store_id: 'main', is_sandbox: true, status: 'beta' },
      store_config: { currency: 'USD', unknown: [1] },
    },
  ],
  ['a query of a list', (sent) => parseObject(sent, listFields), {}, { limit: 100 }],
  [
    'a session',
    session,
    {
      ...{ ...SESSION, public_key: KEY, dlscheme: 'mygame' },
      device_info: { device_id: 'd-1', platform: 'ios', os_version: '17.4', app_version: '1.0.0' },
    },
  ],
]
for (const [what, parse, sent, defaults] of RETURNED) {
  test(`${what} is returned with its defaults`, () => {
    assert.deepEqual(parse(sent), { ...sent, ...defaults })
  })
}

/** Several problems at once, or those that do not follow from the value of one field. */
const PROBLEMS: readonly [parse: Parse, sent: object, ...problems: string[]][] = [
  [parseNewItem, { ...ITEM, metadata: {}, id: 'itm_mine' }, 'metadata: unknown', 'id: unknown'],
  [
    parseNewItem,
    { name: '', price: 499, description: 7, meta: [] },
    ...['store_id: required', 'name: invalid', 'display_name: required', 'description: invalid'],
    ...['price: invalid', 'type: required', 'meta: invalid'],
  ],
  [parseNewProject, { ...GAME, id: 'x', public_key: 'y' }, 'id: unknown', 'public_key: unknown'],
  [
    parseNewProject,
    { ...GAME, config: { allowed_currencies: ['USD', 'eur', 'rub'] } },
    ...['config.allowed_currencies[1]: invalid', 'config.allowed_currencies[2]: invalid'],
  ],
  [(sent) => parseNewProject(sent, ['web']), GAME, 'platform: invalid'],
  [
    (sent) => parseProjectChange(sent, 'session', ['web']),
    { id: 'prj_1', platform: 'ios' },
    'platform: invalid',
  ],
  [bySession, { name: 'New' }, 'id: required'],
  [bySession, { id: 'prj_1', status: 'disabled' }, 'status: unknown'],
  [byAccount, { id: 'prj_1', status: '' }, 'status: invalid'],
  ...[byAccount, bySession].flatMap((parse) =>
    ['bundle_id', 'dlscheme', 'account_id', 'public_key'].map(
      (field): (typeof PROBLEMS)[number] => [parse, { id: 'p', [field]: 'x' }, `${field}: unknown`],
    ),
  ),
  [parseItemChange, { id: 'i', name: 'a', type: 'consumable' }, 'name: unknown', 'type: unknown'],
  [parseNewStore, { ...STORE, id: 'x', account_id: 'y' }, 'id: unknown', 'account_id: unknown'],
  [
    (sent) => parseStoreChange(sent, 'web'),
    {
      ...{ store_id: 'main', store_type: 'iap', is_sandbox: 1, status: '' },
      store_config: { return_url: 'nowhere', webhook_secret: null },
    },
    ...['store_type: unknown', 'is_sandbox: invalid', 'status: invalid'],
    'store_config.return_url: invalid',
  ],
  [
    parseNewStore,
    { project_id: '', store_id: '', store_type: 'kiosk', store_config: { currency: 'usd' } },
    ...['project_id: invalid', 'store_id: invalid', 'store_type: invalid'],
    'store_config.currency: invalid',
  ],
  [
    parseNewStore,
    { ...STORE, store_config: { payment_methods: ['card', '', 7] } },
    ...['store_config.payment_methods[1]: invalid', 'store_config.payment_methods[2]: invalid'],
  ],
  [parseNewStore, null as never, 'The input must be an object'],
  [session, { ...SESSION, scope: 'admin' }, 'scope: unknown'],
  ...['pk_2', '', null, [KEY]].map((public_key): (typeof PROBLEMS)[number] => {
    return [session, { ...SESSION, public_key }, 'public_key: mismatch']
  }),
  [
    session,
    { public_key: 'x', user_id: '', device_info: 7, dlscheme: '://' },
    ...['public_key: mismatch', 'user_id: invalid', 'device_info: invalid', 'dlscheme: invalid'],
  ],
]
for (const [parse, sent, ...problems] of PROBLEMS) {
  test(`${JSON.stringify(sent)} is refused: ${problems.join(', ')}`, () => {
    assert.deepEqual(
      problemsOf(() => parse(sent)),
      problems,
    )
  })
}

describe('a new item', () => {
  testFields(parseNewItem, ITEM, {
    good: {
      store_id: ['a'.repeat(64), '-a_B-9'],
      name: ['a'.repeat(255), '_Gold_100'],
      display_name: ['金 \u{1F600} <b>', '\u{1F600}'.repeat(255)],
      description: ['', 'x'.repeat(4096), 'a\r\n\tb'],
      price: ['0', '9007199254740991'],
      type: ['non_consumable', 'subscription'],
      meta: [{}],
    },
    bad: {
      store_id: [undefined, '', 'a'.repeat(65), 'a.b', 'a/b', 'main\n', 7],
      name: [undefined, '', 'a'.repeat(256), 'gold-coin', 'золото', 'gold１', 'gold\n', ['gold']],
      display_name: [undefined, '', 'x'.repeat(256), 'a\0', 'a\ud83d'],
      description: ['x'.repeat(4097), null, '\0'],
      price: [undefined, 499, 499n, '', '4.99', '-1', '+1', ' 499', '1e3', '9007199254740992'],
      type: [undefined, 'rental', 'Consumable', ['consumable']],
      meta: [[], '{}', null, { a: 'x'.repeat(65_536) }, { a: ['\0'] }, { a: 2 ** 53 }],
    },
  })

  test('explains the format of a price', () => {
    assert.throws(() => parseNewItem({ ...ITEM, price: 4.99 }), {
      message: 'price must be a string of digits, in minor units up to 2^53−1: "499" for 4.99',
    })
  })
})

describe('a change of an item', () => {
  testFields(
    parseItemChange,
    { id: 'itm_1' },
    {
      good: { price: ['599'], version: [1], meta: [{ a: 1 }] },
      bad: {
        price: ['4.99', 499],
        display_name: [''],
        description: ['x'.repeat(4097)],
        meta: [[]],
        version: [0],
      },
    },
  )
})

describe('a project', () => {
  const good = {
    name: ['\u{1F600}'.repeat(255)],
    platform: ['mobile', 'web', 'desktop', 'ios', 'android', 'adroid'],
    config: [{}, CONFIG, { allowed_currencies: [] }, { a: 1, b: [null], c: { d: 'e' }, __: false }],
  }
  const bad = {
    name: ['', 'x'.repeat(256), 'a\0', null],
    platform: ['windows', 'iOS', 7],
    config: [null, [], '{}', { a: 'x'.repeat(65_536) }, { '\ud800': 1 }, { a: 2 ** 53 }],
    'config.sandbox_enabled': ['true', 1],
    'config.webhook_url': ['ftp://a', 'example.com', null],
    'config.webhook_secret': ['', 7],
    'config.allowed_currencies': ['USD'],
    'config.custom_settings': [[], 'x'],
  }
  testFields((sent) => parseNewProject(sent), GAME, {
    good: {
      ...good,
      bundle_id: [`com.${'a'.repeat(151)}`],
      status: ['x'.repeat(64), 'in review \u{1F600}'],
    },
    bad: {
      ...bad,
      account_id: [undefined, 1],
      name: [undefined, ...bad.name],
      bundle_id: [undefined, 'game', `com.${'a'.repeat(152)}`],
      platform: [undefined, ...bad.platform],
      status: ['', 'x'.repeat(65), null],
      dlscheme: ['mygame://', null],
      'config.webhook_secret': [...bad['config.webhook_secret'], null],
    },
  })
  const values = {
    good: { ...good, 'config.webhook_secret': [null] },
    bad: { ...bad, id: [1, ''] },
  }
  describe('in a change', () => testFields(bySession, { id: 'prj_1' }, values))

  const current: Project = {
    ...{ ...GAME, id: 'prj_1', status: 'active', dlscheme: 'mygame', public_key: 'pk_1' },
    config: { webhook_secret: 'stored', kept: true },
    created_at: '2024-03-01T00:00:00.000Z',
  }
  const stored = { webhook_secret: 'stored' }
  const other = { webhook_secret: 'other' }
  const configs: [what: string, before: object, sent: object | undefined, after: object][] = [
    ['nothing sent, nothing changed', stored, undefined, { ...stored, kept: true }],
    ['a config is replaced, except for the secret', stored, { a: 1 }, { ...stored, a: 1 }],
    ['a new secret replaces the old one', stored, other, other],
    ['null removes the secret', stored, { webhook_secret: null, a: 1 }, { a: 1 }],
    ['no secret is added', {}, { a: 1 }, { a: 1 }],
    ['no secret is removed', {}, { webhook_secret: null }, {}],
  ]
  for (const [what, before, sent, after] of configs) {
    test(`is changed: ${what}`, () => {
      const project = { ...current, config: { ...before, kept: true } }
      const copy = structuredClone(project)
      const fields = { name: 'New', status: 'x' }
      const change = { id: 'prj_1', ...fields, ...(sent && { config: sent as JsonObject }) }

      assert.deepEqual(changeProject(project, change), { ...project, ...fields, config: after })
      assert.deepEqual(project, copy)
    })
  }

  test('has __proto__ as a normal key of its config', () => {
    const sent = JSON.parse('{"__proto__":{"polluted":true}}')
    const { config } = changeProject(current, { id: 'prj_1', config: sent })

    assert.deepEqual(Object.keys(config), ['webhook_secret', '__proto__'])
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })
})

describe('a session', () => {
  testFields(session, SESSION, {
    good: {
      public_key: [KEY],
      user_id: ['x'.repeat(255), '\u{1F600}'.repeat(255), 'Ülrich <a@b.c> / 7'],
      device_info: [{}, { model: 'x', ram: 8 }, { device_id: '', os_version: '' }],
      'device_info.app_version': ['x'.repeat(255)],
      'device_info.platform': ['android', 'web'],
      dlscheme: ['', 'another+game-2.x'],
    },
    bad: {
      user_id: [undefined, '', 'x'.repeat(256), 7, null, 'a\nb', 'a\0', 'a\u0085', 'a\ud800'],
      device_info: ['ios', null, []],
      'device_info.platform': ['windows'],
      'device_info.device_id': [7],
      'device_info.os_version': [null],
      'device_info.app_version': ['x'.repeat(256)],
      dlscheme: ['mygame://', null],
    },
  })
})

describe('a store', () => {
  const unprintable = { toString: 1, valueOf: 1 }
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  testFields(parseNewStore, STORE, {
    good: { store_id: ['a', 'A-b_9', '-', 'x'.repeat(64)] },
    bad: {
      project_id: [undefined, 1],
      store_id: ['', null, 'a'.repeat(65), 'my store', 'my.store', 'магазин', 'main\n'],
      store_type: [undefined, 'kiosk', 'Web', 'constructor', null, ['web'], unprintable, deep],
      is_sandbox: ['false', 0, null],
      status: ['', 'x'.repeat(65)],
      store_config: [[], null, { a: '\0' }, { a: 'x'.repeat(65_536) }],
    },
  })
  const bad = { store_id: [undefined, '', 'a/../b', ['main'], null, 'a'.repeat(65)] }
  testFields(parseStoreId, { x: 1 }, { good: { store_id: ['main'] }, bad })

  const common = {
    good: {
      ...{ currency: ['USD'], webhook_enabled: [true], test_mode: [false] },
      ...{ webhook_url: ['https://example.com/hook'], webhook_secret: ['x'.repeat(1024)] },
      unknown: [{ kept: [null] }],
    },
    bad: {
      ...{ currency: ['usd', 840], webhook_enabled: ['yes'], test_mode: [1] },
      webhook_url: ['example.com', 'mygame://hook'],
      webhook_secret: ['', null, 'x'.repeat(1025)],
    },
  }
  /** The values of each type's own keys, and values of other types' keys that stay as they are. */
  const types: { readonly [type: string]: { readonly good: object; readonly bad: object } } = {
    web: {
      good: {
        payment_methods: [[], ['card', 'wallet']],
        return_url: ['https://a/b'],
        cancel_url: ['mygame://cancelled'],
        ...{ platform: ['steam'], api_key: [7], provider: [null], shared_secret: [[]] },
      },
      bad: {
        payment_methods: ['card', Array(101).fill('card')],
        return_url: ['/done', 'javascript:alert(1)'],
        cancel_url: ['data:text/html,x', ''],
      },
    },
    iap: {
      good: { platform: ['google_play'], bundle_id: ['com.example'], shared_secret: ['x'] },
      bad: {
        platform: ['amazon', 'Google_Play', null, ['google_play']],
        bundle_id: ['example'],
        shared_secret: ['', 'x'.repeat(8193)],
      },
    },
    custom: {
      good: { provider: ['Acme'], api_key: ['x'] },
      bad: { provider: ['', 7], api_key: [{ key: 'x' }] },
    },
  }
  const inConfig = (values: object) =>
    Object.fromEntries(Object.entries(values).map(([key, of]) => [`store_config.${key}`, of]))
  for (const [store_type, { good, bad }] of Object.entries(types)) {
    describe(`of the type ${store_type}`, () => {
      testFields(
        parseNewStore,
        { ...STORE, store_type },
        {
          good: inConfig({ ...common.good, ...good }),
          bad: inConfig({ ...common.bad, ...bad }),
        },
      )
    })
  }

  for (const platform of ['app_store', 'epic_game_store', 'steam']) {
    test(`explains that ${platform} is not supported yet`, () => {
      const sent = { ...STORE, store_type: 'iap', store_config: { platform } }

      assert.throws(
        () => parseNewStore(sent),
        ({ message, details: [detail] }: TillError) =>
          detail?.code === 'unsupported' && message.includes('not supported yet'),
      )
    })
  }
})

test('a project and a store without secrets are copies, for every type', () => {
  const project = { ...parseNewProject({ ...GAME, config: CONFIG }), id: 'prj_1' } as Project
  const { webhook_secret: _, ...shown } = CONFIG
  assert.deepEqual(withoutSecrets(project).config, shown)
  assert.equal(project.config.webhook_secret, 'whs_1')

  const secrets = { shared_secret: 'a', api_key: 'b', webhook_secret: 'c' }
  const kept = JSON.parse('{"currency":"USD","__proto__":{"a":1}}')
  const input = { ...STORE, store_id: 'main', store_config: { ...kept, ...secrets } }
  const store = parseNewStore(input) as Store
  assert.equal(JSON.stringify(withoutSecrets(store).store_config), JSON.stringify(kept))
  assert.equal(store.store_config.api_key, 'b')
})

test('all statuses but disabled and archived are active', () => {
  for (const status of ['active', 'beta', 'Disabled']) assert.ok(isActive({ status }), status)
  for (const status of ['disabled', 'archived']) assert.ok(!isActive({ status }), status)
})
