import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { objectSchema, parseObject } from '../../lib/domain/fields.ts'
import {
  itemChangeFields,
  newItemFields,
  parseItemChange,
  parseNewItem,
} from '../../lib/domain/item.ts'
import type { JsonObject } from '../../lib/domain/json.ts'
import {
  changeProject,
  newProjectFields,
  type Project,
  parseNewProject,
  parseProjectChange,
  projectChangeFields,
  statusFields,
} from '../../lib/domain/project.ts'
import { listFields } from '../../lib/domain/query.ts'
import type { JsonSchema } from '../../lib/domain/rules.ts'
import { parseSessionRequest, sessionFields } from '../../lib/domain/session.ts'
import { isActive } from '../../lib/domain/status.ts'
import {
  newStoreFields,
  parseNewStore,
  parseStoreChange,
  parseStoreId,
  STORE_TYPES,
} from '../../lib/domain/store.ts'
import { problemsOf, shown } from '../support/domain/problems.ts'

const ITEM = {
  ...{ store_id: 'main', name: 'gold', display_name: 'Gold', price: '499' },
  type: 'consumable',
}
const GAME = {
  account_id: 'acc_1',
  name: 'Game',
  bundle_id: 'com.example.game',
  platform: 'mobile',
}
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
  ['a new item', parseNewItem, ITEM, { price: 499, description: '', metadata: {} }],
  ['a new project', parseNewProject, GAME, { status: 'active', dlscheme: '', config: {} }],
  [
    'a new project with all fields',
    parseNewProject,
    { ...GAME, status: 'beta', dlscheme: 'mygame', config: CONFIG },
  ],
  [
    'a change of a session',
    bySession,
    { id: 'prj_1', name: 'New', platform: 'ios', config: CONFIG },
  ],
  [
    'a change of an account, which removes a secret',
    byAccount,
    { id: 'prj_1', platform: 'ios', status: 'disabled', config: { webhook_secret: null } },
  ],
  ['a new store', parseNewStore, STORE, { is_sandbox: false, status: 'active', store_config: {} }],
  ['a query of a list', (sent) => parseObject(sent, listFields), {}, { limit: 100 }],
  [
    'a session',
    session,
    {
      ...{ ...SESSION, public_key: KEY, dlscheme: 'mygame' },
      device_info: { device_id: 'd-1', platform: 'ios', os_version: '17.4', model: 'x' },
    },
  ],
]
for (const [what, parse, sent, defaults] of RETURNED) {
  test(`${what} is returned with its defaults`, () => {
    assert.deepEqual(parse(sent), { ...sent, ...defaults })
  })
}

const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
const inStore = (store_type: string, store_config: object) => ({
  ...{ ...STORE, store_type, store_config },
})

type Problems = readonly [parse: Parse, sent: object, ...problems: string[]]
/** Several problems at once, and those that no schema describes. */
const PROBLEMS: readonly Problems[] = [
  [parseNewItem, { ...ITEM, metadata: {}, id: 'itm_mine' }, 'id: unknown'],
  [
    parseNewItem,
    { name: '', price: 499, description: 7, meta: [] },
    ...['store_id: required', 'name: invalid', 'display_name: required', 'description: invalid'],
    ...['price: invalid', 'type: required', 'meta: invalid'],
  ],
  [parseNewItem, { ...ITEM, price: '9007199254740992' }, 'price: invalid'],
  [parseNewProject, { ...GAME, id: 'x', public_key: 'y' }, 'id: unknown', 'public_key: unknown'],
  [
    parseNewProject,
    { ...GAME, config: { webhook_url: 'ftp://a', allowed_currencies: ['USD', 'eur', 'rub'] } },
    ...['config.webhook_url: invalid', 'config.allowed_currencies[1]: invalid'],
    'config.allowed_currencies[2]: invalid',
  ],
  [(sent) => parseNewProject(sent, ['web']), GAME, 'platform: invalid'],
  [
    (sent) => parseProjectChange(sent, 'session', ['web']),
    { id: 'prj_1', platform: 'ios' },
    'platform: invalid',
  ],
  [bySession, { name: 'New' }, 'id: required'],
  [bySession, { id: 'prj_1', status: 'disabled' }, 'status: unknown'],
  ...[byAccount, bySession].map(
    (parse): Problems => [
      parse,
      { id: 'p', bundle_id: 'com.x', dlscheme: 'x', account_id: 'x', public_key: 'x' },
      ...['bundle_id', 'dlscheme', 'account_id', 'public_key'].map((field) => `${field}: unknown`),
    ],
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
  ...['constructor', { toString: 1, valueOf: 1 }, deep].map((store_type): Problems => {
    return [parseNewStore, { ...STORE, store_type }, 'store_type: invalid']
  }),
  [
    parseNewStore,
    inStore('web', { webhook_url: 'mygame://hook', return_url: 'javascript:alert(1)' }),
    ...['store_config.webhook_url: invalid', 'store_config.return_url: invalid'],
  ],
  [parseNewStore, inStore('iap', { platform: 'steam' }), 'store_config.platform: unsupported'],
  [parseNewStore, inStore('custom', { api_key: 7 }), 'store_config.api_key: invalid'],
  [parseNewStore, null as never, 'The input must be an object'],
  [parseStoreId, { store_id: 'a/../b' }, 'store_id: invalid'],
  [parseStoreId, {}, 'store_id: required'],
  [session, { ...SESSION, scope: 'admin' }, 'scope: unknown'],
  ...['pk_2', 7, [KEY]].map((public_key): Problems => {
    return [session, { ...SESSION, public_key }, 'public_key: mismatch']
  }),
  [
    session,
    { public_key: 'x', user_id: '', device_info: { os_version: 7 }, dlscheme: 7 },
    ...['public_key: mismatch', 'user_id: invalid', 'device_info.os_version: invalid'],
    'dlscheme: invalid',
  ],
]
test('all problems of an input are named together', () => {
  for (const [parse, sent, ...problems] of PROBLEMS) {
    assert.deepEqual(
      problemsOf(() => parse(sent)),
      problems,
    )
  }
})

const storeOf = (type: (typeof STORE_TYPES)[number]): Described => [
  (sent) => parseObject(sent, newStoreFields[type]),
  objectSchema(newStoreFields[type]),
  { ...STORE, store_type: type },
]
type Described = readonly [parse: Parse, schema: JsonSchema, input: object]
/** Parse functions, the schemas of their inputs, and a valid input of each. */
const DESCRIBED: { readonly [what: string]: Described } = {
  'a new item': [parseNewItem, objectSchema(newItemFields), ITEM],
  'a change of an item': [parseItemChange, objectSchema(itemChangeFields), { id: 'itm_1' }],
  'a new project': [parseNewProject, objectSchema(newProjectFields), GAME],
  'a change of a project': [
    byAccount,
    objectSchema({ ...projectChangeFields, ...statusFields }),
    { id: 'prj_1' },
  ],
  'a session': [(sent) => parseObject(sent, sessionFields), objectSchema(sessionFields), SESSION],
  ...Object.fromEntries(STORE_TYPES.map((type) => [`a store of the type ${type}`, storeOf(type)])),
}

const ANY_VALUES = [
  ...[undefined, null, true, 0, 1, -1, 1.5, 499n, [], {}, { a: [1] }, [null], ['USD'], ['usd', 7]],
  ...['a b', 'a\n', 'a\r\n\tb', 'a\0', '\u0085', 'золото', 'gold１', 'a.b', 'a/b', '_-', '1a'],
  '9a://',
  ...['499', '4.99', '-1', '+1', ' 4', '1e3', 'USD', 'usd', 'com.example', 'https://a/b', '/done'],
]

/** Values of all types, and texts and lists at the limits of a schema. */
function valuesFor({ enum: values = [], maxLength = 0, maxItems = 0 }: JsonSchema): unknown[] {
  const allowed = values as string[]
  const lengths = [0, 1, 32, 64, 255, Number(maxLength)].flatMap((length) => [length, length + 1])
  return [
    ...ANY_VALUES,
    ...allowed.flatMap((value) => [value, value.toUpperCase(), [value]]),
    ...lengths.flatMap((length) => [
      ...['a', '0', '\u{1F600}'].map((text) => text.repeat(length)),
      'a.a'.padEnd(length, 'a'),
    ]),
    ...[maxItems, Number(maxItems) + 1].map((length) => Array(Number(length)).fill('USD')),
  ]
}

const ajv = new Ajv2020({ strict: false, formats: { uri: (text: string) => URL.canParse(text) } })

describe('a parse function accepts what ajv accepts by its schema', () => {
  for (const [what, [parse, schema, input]] of Object.entries(DESCRIBED)) {
    test(what, () => {
      const isValid = ajv.compile(schema)
      const assertAgreed = (field: string, value: unknown, sent: object) => {
        // Null counts as absent.
        const given = value === null ? { ...input, [field]: undefined } : sent
        const expected = isValid(given) ? '' : field
        const found = problemsOf(() => parse(sent)).map((each) => each.split(/[.[:]/)[0])
        assert.equal([...new Set(found)].join(), expected, `${field} ${shown(value)}`)
      }
      for (const [field, rule] of propertiesOf(schema)) {
        for (const value of valuesFor(rule)) {
          assertAgreed(field, value, { ...input, [field]: value })
        }
        for (const [key, within] of propertiesOf(rule)) {
          for (const value of valuesFor(within).slice(1)) {
            assertAgreed(field, value, { ...input, [field]: { [key]: value } })
          }
        }
      }
    })
  }
})

function propertiesOf({ properties = {} }: JsonSchema): [field: string, rule: JsonSchema][] {
  return Object.entries(properties as { [field: string]: JsonSchema })
}

const stored = { webhook_secret: 'stored' }
const other = { webhook_secret: 'other' }
const proto = '"__proto__":{"polluted":true}}'
const CONFIGS: [what: string, before: object, sent: object | undefined, after: object][] = [
  ['nothing sent, nothing changed', stored, undefined, { ...stored, kept: true }],
  ['a config is replaced, except for the secret', stored, { a: 1 }, { ...stored, a: 1 }],
  ['a new secret replaces the old one', stored, other, other],
  ['null removes the secret', stored, { webhook_secret: null, a: 1 }, { a: 1 }],
  ['__proto__ is a normal key', {}, JSON.parse(`{${proto}`), JSON.parse(`{${proto}`)],
]
test('a change of a project replaces its config, and keeps secrets', () => {
  const current: Project = {
    ...{ ...GAME, id: 'prj_1', status: 'active', dlscheme: 'mygame', public_key: 'pk_1' },
    ...{ config: {}, created_at: '2024-03-01T00:00:00.000Z' },
  }
  for (const [what, before, sent, after] of CONFIGS) {
    const project = { ...current, config: { ...before, kept: true } }
    const copy = structuredClone(project)
    const fields = { name: 'New', status: 'x' }
    const change = { id: 'prj_1', ...fields, ...(sent && { config: sent as JsonObject }) }

    const expected = { ...project, ...fields, config: after }
    assert.deepEqual(changeProject(project, change), expected, what)
    assert.deepEqual(project, copy)
  }
})

test('all statuses but disabled and archived are active', () => {
  for (const status of ['active', 'beta', 'Disabled']) assert.ok(isActive({ status }), status)
  for (const status of ['disabled', 'archived']) assert.ok(!isActive({ status }), status)
})
