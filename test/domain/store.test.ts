import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isActive } from '../../lib/domain/status.ts'
import {
  parseNewStore,
  parseStoreId,
  type Store,
  withoutStoreSecrets,
} from '../../lib/domain/store.ts'
import type { TillError } from '../../lib/errors.ts'
import { problemsOf } from './problems.ts'

const input = { project_id: 'prj_1', store_type: 'web' }

describe('parseNewStore', () => {
  test('fills in defaults, except for the store_id', () => {
    const expected = { ...input, is_sandbox: false, status: 'active', store_config: {} }

    assert.deepEqual(parseNewStore(input), expected)
  })

  test('returns all known fields, and refuses others', () => {
    const sent = {
      ...input,
      store_id: 'main',
      is_sandbox: true,
      status: 'beta',
      store_config: { currency: 'USD', unknown: [1] },
    }

    assert.deepEqual(parseNewStore(sent), sent)
    assert.deepEqual(
      problemsOf(() => parseNewStore({ ...sent, id: 'x', account_id: 'acc_2' })),
      ['id: unknown', 'account_id: unknown'],
    )
  })

  const bad: [string, Record<string, unknown>, ...string[]][] = [
    ['no project_id', { project_id: undefined }, 'project_id: required'],
    ['a project_id that is a number', { project_id: 1 }, 'project_id: invalid'],
    ['an empty store_id', { store_id: '' }, 'store_id: invalid'],
    ['a store_id that is null', { store_id: null }, 'store_id: invalid'],
    ['a store_id of 65 characters', { store_id: 'a'.repeat(65) }, 'store_id: invalid'],
    ['a store_id with a space', { store_id: 'my store' }, 'store_id: invalid'],
    ['a store_id with a dot', { store_id: 'my.store' }, 'store_id: invalid'],
    ['a store_id that is not Latin', { store_id: 'магазин' }, 'store_id: invalid'],
    ['a store_id and a line end', { store_id: 'main\n' }, 'store_id: invalid'],
    ['no store_type', { store_type: undefined }, 'store_type: required'],
    ['an unknown store_type', { store_type: 'kiosk' }, 'store_type: invalid'],
    ['a store_type in capitals', { store_type: 'Web' }, 'store_type: invalid'],
    [
      'a store_type that every object inherits',
      { store_type: 'constructor' },
      'store_type: invalid',
    ],
    ['a store_type that is null', { store_type: null }, 'store_type: invalid'],
    ['a store_type that is a list', { store_type: ['web'] }, 'store_type: invalid'],
    [
      'a store_type that cannot become text',
      { store_type: { toString: 1, valueOf: 1 } },
      'store_type: invalid',
    ],
    [
      'a store_type of 100,000 nested lists',
      { store_type: JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) },
      'store_type: invalid',
    ],
    ['is_sandbox as text', { is_sandbox: 'false' }, 'is_sandbox: invalid'],
    ['is_sandbox as a number', { is_sandbox: 0 }, 'is_sandbox: invalid'],
    ['is_sandbox as null', { is_sandbox: null }, 'is_sandbox: invalid'],
    ['an empty status', { status: '' }, 'status: invalid'],
    ['a status of 65 characters', { status: 'x'.repeat(65) }, 'status: invalid'],
    ['a store_config that is a list', { store_config: [] }, 'store_config: invalid'],
    ['a store_config that is null', { store_config: null }, 'store_config: invalid'],
    ['a store_config with U+0000', { store_config: { a: '\0' } }, 'store_config: invalid'],
    [
      'a store_config of more than 64 KiB',
      { store_config: { a: 'x'.repeat(65_536) } },
      'store_config: invalid',
    ],
    [
      'several errors at once',
      { project_id: '', store_id: '', store_type: 'kiosk', store_config: { currency: 'usd' } },
      'project_id: invalid',
      'store_id: invalid',
      'store_type: invalid',
      'store_config.currency: invalid',
    ],
  ]
  for (const [what, change, ...problems] of bad) {
    test(`refuses ${what}`, () => {
      assert.deepEqual(
        problemsOf(() => parseNewStore({ ...input, ...change })),
        problems,
      )
    })
  }

  for (const store_id of ['a', 'A-b_9', '-', 'x'.repeat(64)]) {
    test(`accepts the store_id ${store_id}`, () => {
      assert.equal(parseNewStore({ ...input, store_id }).store_id, store_id)
    })
  }

  for (const other of [undefined, null, 'web', [input]]) {
    test(`refuses ${JSON.stringify(other)} instead of a body`, () => {
      assert.deepEqual(
        problemsOf(() => parseNewStore(other)),
        ['The input must be an object'],
      )
    })
  }
})

describe('a store_config', () => {
  const common = {
    currency: 'USD',
    webhook_enabled: true,
    webhook_url: 'https://example.com/hook',
    webhook_secret: 'x'.repeat(1024),
    test_mode: false,
    unknown: { kept: [null] },
  }
  const good: [string, object][] = [
    ['web', common],
    ['iap', common],
    ['custom', common],
    ['web', { payment_methods: [], return_url: 'https://a/b', cancel_url: 'mygame://cancelled' }],
    ['web', { payment_methods: ['card', 'wallet'] }],
    ['iap', { platform: 'google_play', bundle_id: 'com.example', shared_secret: 'x' }],
    ['custom', { provider: 'Acme', api_key: 'x' }],
  ]
  for (const [store_type, store_config] of good) {
    test(`of ${store_type} may have ${Object.keys(store_config)}`, () => {
      const store = parseNewStore({ ...input, store_type, store_config })

      assert.deepEqual(store.store_config, store_config)
    })
  }

  const badCommon: [string, unknown][] = [
    ['currency', 'usd'],
    ['currency', 840],
    ['webhook_enabled', 'yes'],
    ['webhook_url', 'example.com'],
    ['webhook_url', 'mygame://hook'],
    ['webhook_secret', ''],
    ['webhook_secret', null],
    ['test_mode', 1],
  ]
  const bad: [string, string, unknown][] = [
    ...badCommon.flatMap(([key, value]): [string, string, unknown][] => [
      ['web', key, value],
      ['iap', key, value],
      ['custom', key, value],
    ]),
    ['web', 'payment_methods', 'card'],
    ['web', 'payment_methods', Array(101).fill('card')],
    ['web', 'return_url', '/done'],
    ['web', 'return_url', 'javascript:alert(1)'],
    ['web', 'cancel_url', 'data:text/html,x'],
    ['web', 'cancel_url', ''],
    ['iap', 'platform', 'amazon'],
    ['iap', 'platform', 'Google_Play'],
    ['iap', 'platform', null],
    ['iap', 'platform', ['google_play']],
    ['iap', 'bundle_id', 'example'],
    ['iap', 'shared_secret', ''],
    ['iap', 'shared_secret', 'x'.repeat(8193)],
    ['web', 'webhook_secret', 'x'.repeat(1025)],
    ['custom', 'provider', ''],
    ['custom', 'provider', 7],
    ['custom', 'api_key', { key: 'x' }],
  ]
  for (const [store_type, key, value] of bad) {
    test(`of ${store_type} refuses as ${key}: ${JSON.stringify(value)?.slice(0, 40)}`, () => {
      assert.deepEqual(
        problemsOf(() => parseNewStore({ ...input, store_type, store_config: { [key]: value } })),
        [`store_config.${key}: invalid`],
      )
    })
  }

  test('names each bad entry of a list', () => {
    const store_config = { payment_methods: ['card', '', 7] }

    assert.deepEqual(
      problemsOf(() => parseNewStore({ ...input, store_config })),
      ['store_config.payment_methods[1]: invalid', 'store_config.payment_methods[2]: invalid'],
    )
  })

  for (const platform of ['app_store', 'epic_game_store', 'steam']) {
    test(`of iap explains that ${platform} is not supported yet`, () => {
      const sent = { ...input, store_type: 'iap', store_config: { platform } }

      assert.deepEqual(
        problemsOf(() => parseNewStore(sent)),
        ['store_config.platform: unsupported'],
      )
      assert.throws(
        () => parseNewStore(sent),
        (error: TillError) => error.message.includes('not supported yet'),
      )
    })
  }

  test('leaves keys of other store types as they are', () => {
    const store_config = { platform: 'steam', api_key: 7, provider: null, shared_secret: [] }

    assert.deepEqual(parseNewStore({ ...input, store_config }).store_config, store_config)
  })
})

test('withoutStoreSecrets returns a copy without secrets, for every type', () => {
  const secrets = { shared_secret: 'a', api_key: 'b', webhook_secret: 'c' }
  const shown = JSON.parse('{"currency":"USD","__proto__":{"a":1}}')
  const store = parseNewStore({ ...input, store_config: { ...shown, ...secrets } }) as Store

  const bare = withoutStoreSecrets(store)

  assert.equal(JSON.stringify(bare.store_config), JSON.stringify(shown))
  assert.equal(store.store_config.api_key, 'b')
})

describe('parseStoreId', () => {
  test('returns the store_id', () => {
    assert.equal(parseStoreId({ store_id: 'main', x: 1 }), 'main')
  })

  for (const store_id of ['', 'a b', 'a/../b', ['main'], null, 7, 'a'.repeat(65)]) {
    test(`refuses ${JSON.stringify(store_id)}`, () => {
      assert.deepEqual(
        problemsOf(() => parseStoreId({ store_id })),
        ['store_id: invalid'],
      )
    })
  }

  test('requires the store_id', () => {
    assert.deepEqual(
      problemsOf(() => parseStoreId({})),
      ['store_id: required'],
    )
  })
})

describe('isActive', () => {
  const rows: [string, boolean][] = [
    ['active', true],
    ['beta', true],
    ['Disabled', true],
    ['disabled', false],
    ['archived', false],
  ]
  for (const [status, expected] of rows) {
    test(`is ${expected} for ${status}`, () => {
      assert.equal(isActive({ status }), expected)
    })
  }
})
