import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  changeProject,
  type Project,
  parseNewProject,
  parseProjectChange,
  withoutProjectSecrets,
} from '../../lib/domain/project.ts'
import { problemsOf, testFields } from './problems.ts'

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

/** Values of the fields that a create and a change have in common. */
const good = {
  name: ['\u{1F600}'.repeat(255)],
  platform: ['mobile', 'web', 'desktop', 'ios', 'android', 'adroid'],
  config: [{}, config, { allowed_currencies: [] }, { a: 1, b: [null], c: { d: 'e' }, __: false }],
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

describe('parseNewProject', () => {
  test('returns all known fields, and fills in defaults', () => {
    const sent = { ...input, status: 'beta', dlscheme: 'mygame', config }

    assert.deepEqual(parseNewProject(sent), sent)
    assert.deepEqual(parseNewProject(input), {
      ...input,
      status: 'active',
      dlscheme: '',
      config: {},
    })
  })

  test('refuses an id and a public key', () => {
    assert.deepEqual(
      problemsOf(() => parseNewProject({ ...input, id: 'prj_mine', public_key: 'pk_mine' })),
      ['id: unknown', 'public_key: unknown'],
    )
  })

  testFields((sent) => parseNewProject(sent), input, {
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

  test('names each bad currency', () => {
    const sent = { ...input, config: { allowed_currencies: ['USD', 'eur', 'rub'] } }

    assert.deepEqual(
      problemsOf(() => parseNewProject(sent)),
      ['config.allowed_currencies[1]: invalid', 'config.allowed_currencies[2]: invalid'],
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

  testFields(
    (sent) => parseProjectChange(sent, 'session'),
    { id: 'prj_1' },
    {
      good: { ...good, 'config.webhook_secret': [null] },
      bad: { ...bad, id: [1, ''] },
    },
  )
})

test('a platform that is not in the setting is refused', () => {
  assert.equal(parseNewProject({ ...input, platform: 'web' }, ['web']).platform, 'web')
  for (const parse of [
    () => parseNewProject(input, ['web']),
    () => parseProjectChange({ id: 'prj_1', platform: 'ios' }, 'session', ['web']),
  ]) {
    assert.deepEqual(problemsOf(parse), ['platform: invalid'])
  }
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
  const bare = { ...current, config: { kept: true } }

  const rows: [string, Project, change: object, expected: object][] = [
    ['nothing sent, nothing changed', current, {}, {}],
    ['fields', current, { name: 'New', status: 'x' }, { name: 'New', status: 'x' }],
    [
      'a config is replaced, except for the secret',
      current,
      { config: { other: 1 } },
      { config: { webhook_secret: 'stored', other: 1 } },
    ],
    [
      'a new secret replaces the old one',
      current,
      { config: { webhook_secret: 'new' } },
      { config: { webhook_secret: 'new' } },
    ],
    [
      'null removes the secret',
      current,
      { config: { webhook_secret: null, a: 1 } },
      { config: { a: 1 } },
    ],
    ['no secret is added', bare, { config: { a: 1 } }, { config: { a: 1 } }],
    ['no secret is removed', bare, { config: { webhook_secret: null } }, { config: {} }],
  ]
  for (const [what, before, change, expected] of rows) {
    test(what, () => {
      const copy = structuredClone(before)

      assert.deepEqual(changeProject(before, { id: 'prj_1', ...change }), {
        ...before,
        ...expected,
      })
      assert.deepEqual(before, copy)
    })
  }

  test('treats __proto__ as a normal key', () => {
    const sent = JSON.parse('{"__proto__":{"polluted":true}}')
    const { config } = changeProject(current, { id: 'prj_1', config: sent })

    assert.deepEqual(Object.keys(config), ['webhook_secret', '__proto__'])
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })
})

test('withoutProjectSecrets returns a copy without the secret', () => {
  const project = { ...parseNewProject({ ...input, config }), id: 'prj_1' } as Project
  const { webhook_secret: _, ...shown } = config

  assert.deepEqual(withoutProjectSecrets(project).config, shown)
  assert.equal(project.config.webhook_secret, 'whs_1')
})
