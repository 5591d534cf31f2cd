import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  changeProject,
  type Project,
  parseNewProject,
  parseProjectChange,
  withoutProjectSecrets,
} from '../../lib/domain/project.ts'
import { problemsOf } from './problems.ts'

const input = {
  account_id: 'acc_1',
  name: 'Game',
  bundle_id: 'com.example.game',
  platform: 'mobile',
}

const config = {
  sandbox_enabled: true,
  webhook_url: 'https://example.com/hook',
  webhook_secret: 'whs_1',
  allowed_currencies: ['USD', 'EUR'],
  custom_settings: { feature_flags: { shop: true } },
  anything: [{ else: null }],
}

/** Valid values of `config`, for creates and changes. */
const goodConfigs: [string, object][] = [
  ['that is empty', {}],
  ['with all known keys and one more', config],
  ['with an empty list of currencies', { allowed_currencies: [] }],
  ['with a secret of 1024 characters', { webhook_secret: 'x'.repeat(1024) }],
  ['with unknown keys of any kind', { a: 1, b: [null], c: { d: 'e' }, __: false }],
]
const badConfigs: [string, unknown, ...string[]][] = [
  ['that is null', null, 'config: invalid'],
  ['that is an array', [], 'config: invalid'],
  ['that is text', '{}', 'config: invalid'],
  ['of more than 64 KiB', { a: 'x'.repeat(65_536) }, 'config: invalid'],
  ['with U+0000', { a: { b: ['\0'] } }, 'config: invalid'],
  ['with a lone surrogate in a key', { '\ud800': 1 }, 'config: invalid'],
  ['with too big an integer', { a: 2 ** 53 }, 'config: invalid'],
  ['with text for a flag', { sandbox_enabled: 'true' }, 'config.sandbox_enabled: invalid'],
  ['with a URL of another scheme', { webhook_url: 'ftp://a' }, 'config.webhook_url: invalid'],
  ['with text that is not a URL', { webhook_url: 'example.com' }, 'config.webhook_url: invalid'],
  ['with an empty secret', { webhook_secret: '' }, 'config.webhook_secret: invalid'],
  [
    'with too long a secret',
    { webhook_secret: 'x'.repeat(1025) },
    'config.webhook_secret: invalid',
  ],
  ['with a secret that is a number', { webhook_secret: 7 }, 'config.webhook_secret: invalid'],
  ['with one currency', { allowed_currencies: 'USD' }, 'config.allowed_currencies: invalid'],
  [
    'with currencies in small letters',
    { allowed_currencies: ['USD', 'eur', 'rub'] },
    'config.allowed_currencies[1]: invalid',
    'config.allowed_currencies[2]: invalid',
  ],
  ['with settings as a list', { custom_settings: [] }, 'config.custom_settings: invalid'],
  [
    'with several errors',
    { sandbox_enabled: 1, webhook_url: null, custom_settings: 'x' },
    'config.sandbox_enabled: invalid',
    'config.webhook_url: invalid',
    'config.custom_settings: invalid',
  ],
]

describe('parseNewProject', () => {
  test('fills in defaults', () => {
    const expected = { ...input, status: 'active', dlscheme: '', config: {} }

    assert.deepEqual(parseNewProject(input), expected)
  })

  test('returns all known fields', () => {
    const sent = { ...input, status: 'beta', dlscheme: 'mygame', config }

    assert.deepEqual(parseNewProject(sent), sent)
  })

  test('refuses an id and a public key', () => {
    assert.deepEqual(
      problemsOf(() => parseNewProject({ ...input, id: 'prj_mine', public_key: 'pk_mine' })),
      ['id: unknown', 'public_key: unknown'],
    )
  })

  for (const platform of ['mobile', 'web', 'desktop', 'ios', 'android', 'adroid']) {
    test(`keeps the platform ${platform} as it was sent`, () => {
      assert.equal(parseNewProject({ ...input, platform }).platform, platform)
    })
  }

  test('refuses a platform that is not in the setting', () => {
    assert.equal(parseNewProject({ ...input, platform: 'web' }, ['web']).platform, 'web')
    assert.deepEqual(
      problemsOf(() => parseNewProject(input, ['web'])),
      ['platform: invalid'],
    )
  })

  const good: [string, Record<string, unknown>][] = [
    ['a name of 255 characters outside the BMP', { name: '\u{1F600}'.repeat(255) }],
    ['a bundle_id of 155 characters', { bundle_id: `com.${'a'.repeat(151)}` }],
    ['a bundle_id of two labels with - and _', { bundle_id: 'my-company.the_game' }],
    ['a status of 64 characters', { status: 'x'.repeat(64) }],
    ['a status with any text', { status: 'in review \u{1F600}' }],
    ['an empty dlscheme', { dlscheme: '' }],
    ...goodConfigs.map(([what, value]): [string, Record<string, unknown>] => [
      `a config ${what}`,
      { config: value },
    ]),
  ]
  for (const [what, change] of good) {
    test(`accepts ${what}`, () => {
      const sent = { ...input, ...change }

      assert.deepEqual(parseNewProject(sent), {
        status: 'active',
        dlscheme: '',
        config: {},
        ...sent,
      })
    })
  }

  const bad: [string, Record<string, unknown>, ...string[]][] = [
    ['no account_id', { account_id: undefined }, 'account_id: required'],
    ['an account_id that is a number', { account_id: 1 }, 'account_id: invalid'],
    ['no name', { name: undefined }, 'name: required'],
    ['an empty name', { name: '' }, 'name: invalid'],
    ['a name of 256 characters', { name: 'x'.repeat(256) }, 'name: invalid'],
    ['a name with U+0000', { name: 'a\0' }, 'name: invalid'],
    ['a name with a lone surrogate', { name: '\udc00' }, 'name: invalid'],
    ['a name that is null', { name: null }, 'name: invalid'],
    ['no bundle_id', { bundle_id: undefined }, 'bundle_id: required'],
    ['a bundle_id of one label', { bundle_id: 'game' }, 'bundle_id: invalid'],
    ['a bundle_id of 156', { bundle_id: `com.${'a'.repeat(152)}` }, 'bundle_id: invalid'],
    ['a bundle_id with an empty label', { bundle_id: 'com..game' }, 'bundle_id: invalid'],
    ['a bundle_id with a space', { bundle_id: 'com.my game' }, 'bundle_id: invalid'],
    ['no platform', { platform: undefined }, 'platform: required'],
    ['an unknown platform', { platform: 'windows' }, 'platform: invalid'],
    ['a platform in capitals', { platform: 'iOS' }, 'platform: invalid'],
    ['an empty status', { status: '' }, 'status: invalid'],
    ['a status of 65 characters', { status: 'x'.repeat(65) }, 'status: invalid'],
    ['a status that is null', { status: null }, 'status: invalid'],
    ['a dlscheme with ://', { dlscheme: 'mygame://' }, 'dlscheme: invalid'],
    ['a dlscheme that begins with a digit', { dlscheme: '1game' }, 'dlscheme: invalid'],
    ['a dlscheme that is null', { dlscheme: null }, 'dlscheme: invalid'],
    ...(badConfigs.map(([what, value, ...problems]): [string, object, ...string[]] => [
      `a config ${what}`,
      { config: value },
      ...problems,
    ]) as [string, Record<string, unknown>, ...string[]][]),
  ]
  for (const [what, change, ...problems] of bad) {
    test(`refuses ${what}`, () => {
      assert.deepEqual(
        problemsOf(() => parseNewProject({ ...input, ...change })),
        problems,
      )
    })
  }

  test('refuses a null secret', () => {
    assert.deepEqual(
      problemsOf(() => parseNewProject({ ...input, config: { webhook_secret: null } })),
      ['config.webhook_secret: invalid'],
    )
  })

  test('names all bad fields at once', () => {
    assert.deepEqual(
      problemsOf(() => parseNewProject({ name: '', platform: 7, status: '', config: [] })),
      [
        'account_id: required',
        'name: invalid',
        'bundle_id: required',
        'platform: invalid',
        'status: invalid',
        'config: invalid',
      ],
    )
  })
})

describe('parseProjectChange', () => {
  test('requires only an id', () => {
    assert.deepEqual(parseProjectChange({ id: 'prj_1' }, 'session'), { id: 'prj_1' })
    assert.deepEqual(
      problemsOf(() => parseProjectChange({ name: 'New' }, 'session')),
      ['id: required'],
    )
  })

  test('returns name, platform and config, and refuses every other field', () => {
    const change = { id: 'prj_1', name: 'New', platform: 'ios', config }

    for (const by of ['account', 'session'] as const) {
      assert.deepEqual(parseProjectChange(change, by), change)
      for (const field of ['bundle_id', 'dlscheme', 'account_id', 'public_key']) {
        assert.deepEqual(
          problemsOf(() => parseProjectChange({ ...change, [field]: 'x' }, by)),
          [`${field}: unknown`],
        )
      }
    }
  })

  test('returns the status of an account, and refuses that of a session', () => {
    const change = { id: 'prj_1', status: 'disabled' }

    assert.deepEqual(parseProjectChange(change, 'account'), change)
    assert.deepEqual(
      problemsOf(() => parseProjectChange(change, 'session')),
      ['status: unknown'],
    )
    assert.deepEqual(
      problemsOf(() => parseProjectChange({ id: 'prj_1', status: '' }, 'account')),
      ['status: invalid'],
    )
  })

  test('accepts null, which removes a secret', () => {
    const change = { id: 'prj_1', config: { webhook_secret: null } }

    assert.deepEqual(parseProjectChange(change, 'session'), change)
  })

  for (const [what, value] of goodConfigs) {
    test(`accepts a config ${what}`, () => {
      const change = { id: 'prj_1', config: value }

      assert.deepEqual(parseProjectChange(change, 'session'), change)
    })
  }

  const bad: [string, Record<string, unknown>, ...string[]][] = [
    ['an id that is a number', { id: 1 }, 'id: invalid'],
    ['an empty id', { id: '' }, 'id: invalid'],
    ['an empty name', { name: '' }, 'name: invalid'],
    ['a name that is null', { name: null }, 'name: invalid'],
    ['an unknown platform', { platform: 'windows' }, 'platform: invalid'],
    ['several at once', { name: 7, platform: 7 }, 'name: invalid', 'platform: invalid'],
  ]
  for (const [what, change, ...problems] of bad) {
    test(`refuses ${what}`, () => {
      assert.deepEqual(
        problemsOf(() => parseProjectChange({ id: 'prj_1', ...change }, 'session')),
        problems,
      )
    })
  }
  for (const [what, value, ...problems] of badConfigs) {
    test(`refuses a config ${what}`, () => {
      assert.deepEqual(
        problemsOf(() => parseProjectChange({ id: 'prj_1', config: value }, 'session')),
        problems,
      )
    })
  }

  test('refuses a platform that is not in the setting', () => {
    const change = { id: 'prj_1', platform: 'ios' }

    assert.deepEqual(
      problemsOf(() => parseProjectChange(change, 'session', ['web'])),
      ['platform: invalid'],
    )
  })
})

describe('changeProject', () => {
  const current: Project = {
    ...input,
    id: 'prj_1',
    status: 'active',
    dlscheme: 'mygame',
    public_key: 'pk_1',
    config: { webhook_secret: 'stored', kept: true },
    created_at: '2024-03-01T00:00:00.000Z',
  }

  const rows: [string, object, object][] = [
    ['nothing sent, nothing changed', {}, {}],
    ['name', { name: 'New' }, { name: 'New' }],
    ['platform and status', { platform: 'ios', status: 'x' }, { platform: 'ios', status: 'x' }],
    [
      'a config is replaced, except for the secret',
      { config: { other: 1 } },
      { config: { webhook_secret: 'stored', other: 1 } },
    ],
    ['an empty config keeps the secret', { config: {} }, { config: { webhook_secret: 'stored' } }],
    [
      'a new secret replaces the old one',
      { config: { webhook_secret: 'new' } },
      { config: { webhook_secret: 'new' } },
    ],
    ['null removes the secret', { config: { webhook_secret: null, a: 1 } }, { config: { a: 1 } }],
  ]
  for (const [what, change, expected] of rows) {
    test(what, () => {
      const before = structuredClone(current)

      assert.deepEqual(changeProject(current, { id: 'prj_1', ...change }), {
        ...current,
        ...expected,
      })
      assert.deepEqual(current, before)
    })
  }

  test('does not add a secret where there was none', () => {
    const bare = { ...current, config: { kept: true } }

    assert.deepEqual(changeProject(bare, { id: 'prj_1', config: { a: 1 } }).config, { a: 1 })
    assert.deepEqual(
      changeProject(bare, { id: 'prj_1', config: { webhook_secret: null } }).config,
      {},
    )
  })

  test('treats __proto__ as a normal key', () => {
    const sent = JSON.parse('{"__proto__":{"polluted":true}}')
    const { config } = changeProject(current, { id: 'prj_1', config: sent })

    assert.deepEqual(Object.keys(config), ['webhook_secret', '__proto__'])
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })
})

test('withoutProjectSecrets returns a copy without the secret', () => {
  const project = { ...parseNewProject({ ...input, config }), id: 'prj_1' } as Project

  const { webhook_secret, ...shown } = withoutProjectSecrets(project).config

  assert.equal(webhook_secret, undefined)
  assert.deepEqual(
    Object.keys(shown),
    Object.keys(config).filter((key) => key !== 'webhook_secret'),
  )
  assert.equal(project.config.webhook_secret, 'whs_1')
})
