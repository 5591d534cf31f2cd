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
import { problemsOf, testFields } from './problems.ts'

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

  const unprintable = { toString: 1, valueOf: 1 }
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  testFields(parseNewStore, input, {
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

  test('names all bad fields at once', () => {
    const store_config = { currency: 'usd' }

    assert.deepEqual(
      problemsOf(() =>
        parseNewStore({ project_id: '', store_id: '', store_type: 'kiosk', store_config }),
      ),
      [
        'project_id: invalid',
        'store_id: invalid',
        'store_type: invalid',
        'store_config.currency: invalid',
      ],
    )
  })

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
  const good = {
    'store_config.currency': ['USD'],
    'store_config.webhook_enabled': [true],
    'store_config.webhook_url': ['https://example.com/hook'],
    'store_config.webhook_secret': ['x'.repeat(1024)],
    'store_config.test_mode': [false],
    'store_config.unknown': [{ kept: [null] }],
  }
  const bad = {
    'store_config.currency': ['usd', 840],
    'store_config.webhook_enabled': ['yes'],
    'store_config.webhook_url': ['example.com', 'mygame://hook'],
    'store_config.webhook_secret': ['', null, 'x'.repeat(1025)],
    'store_config.test_mode': [1],
  }
  const types: [type: string, good: object, bad: object][] = [
    [
      'web',
      {
        'store_config.payment_methods': [[], ['card', 'wallet']],
        'store_config.return_url': ['https://a/b'],
        'store_config.cancel_url': ['mygame://cancelled'],
      },
      {
        'store_config.payment_methods': ['card', Array(101).fill('card')],
        'store_config.return_url': ['/done', 'javascript:alert(1)'],
        'store_config.cancel_url': ['data:text/html,x', ''],
      },
    ],
    [
      'iap',
      {
        'store_config.platform': ['google_play'],
        'store_config.bundle_id': ['com.example'],
        'store_config.shared_secret': ['x'],
      },
      {
        'store_config.platform': ['amazon', 'Google_Play', null, ['google_play']],
        'store_config.bundle_id': ['example'],
        'store_config.shared_secret': ['', 'x'.repeat(8193)],
      },
    ],
    [
      'custom',
      { 'store_config.provider': ['Acme'], 'store_config.api_key': ['x'] },
      { 'store_config.provider': ['', 7], 'store_config.api_key': [{ key: 'x' }] },
    ],
  ]
  for (const [store_type, ownGood, ownBad] of types) {
    describe(`of ${store_type}`, () => {
      const values = { good: { ...good, ...ownGood }, bad: { ...bad, ...ownBad } }
      testFields(parseNewStore, { ...input, store_type }, values)
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

      assert.throws(
        () => parseNewStore(sent),
        ({ message, details: [detail] }: TillError) =>
          detail?.code === 'unsupported' && message.includes('not supported yet'),
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
  test('returns the store_id, and checks no other field', () => {
    assert.equal(parseStoreId({ store_id: 'main', x: 1 }), 'main')
  })

  const bad = { store_id: [undefined, '', 'a/../b', ['main'], null, 'a'.repeat(65)] }
  testFields(parseStoreId, {}, { good: {}, bad })
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
