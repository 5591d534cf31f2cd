import { character, fc } from '../support/seeds.ts'
import { type Entry, freeForm, type JsonText, objectOf, say, text, wildValue } from './json.ts'

/** The outcome when the rest of the request is valid; undefined when the body alone cannot tell. */
export type Expected = 'accepted' | 'refused' | undefined

export interface Body {
  /** The bytes, one per character. */
  readonly bytes: string
  readonly expected: Expected
}

interface Field {
  readonly name: string
  readonly value: fc.Arbitrary<JsonText>
  readonly required: boolean
}

const required = (name: string, value: fc.Arbitrary<JsonText>): Field => ({
  name,
  value,
  required: true,
})
const optional = (name: string, value: fc.Arbitrary<JsonText>): Field => ({
  name,
  value,
  required: false,
})

const strings = (...values: string[]) => fc.constantFrom(...values).map(say)
const boolean = fc.boolean().map(say)
const object = (...fields: Field[]) => entriesOf(fields).map(objectOf)

// A secret that no later response may contain. `world.fill` replaces the part in braces.
const secret = strings('canary-{{fresh}}')
const scheme = strings('', 'mygame', 'a+b-c.d1')
const name = text(1, 40).map(say)
const url = strings('https://example.com/hook', 'http://localhost:1?q=é', 'https://[::1]/')
const currency = strings('USD', 'EUR', 'JPY', 'RUB')

const sessionFields = [
  optional('public_key', strings('{{public_key}}')),
  required('user_id', name),
  optional(
    'device_info',
    object(
      optional('device_id', text(0, 20).map(say)),
      optional('platform', strings('ios', 'android', 'web')),
      optional('os_version', text(0, 20).map(say)),
      optional('app_version', text(0, 20).map(say)),
    ),
  ),
  optional('dlscheme', scheme),
]

const platform = strings('mobile', 'web', 'desktop', 'ios', 'android', 'adroid')
const projectConfig = object(
  optional('sandbox_enabled', boolean),
  optional('webhook_url', url),
  optional('webhook_secret', secret),
  optional('allowed_currencies', fc.constantFrom('[]', '["USD","EUR","JPY","RUB"]')),
  optional('custom_settings', freeForm),
  optional('feature', freeForm),
)

/** Bodies of the JSON endpoints, with the fields of the specification. */
const FIELDS = {
  session: sessionFields,
  item: [
    required('store_id', strings('main')),
    required('name', strings('sku_{{fresh}}')),
    required('display_name', name),
    optional('description', text(0, 60).map(say)),
    required('price', strings('0', '499', '00499', '9007199254740991')),
    required('type', strings('consumable', 'non_consumable', 'subscription')),
    optional('meta', freeForm),
  ],
  project: [
    required('account_id', strings('{{account_id}}')),
    required('name', name),
    required('bundle_id', strings('com.example', 'a.b', 'com.Exa-mple_1.game')),
    required('platform', platform),
    optional('status', text(1, 20).map(say)),
    optional('dlscheme', scheme),
    optional('config', projectConfig),
  ],
  change: [
    required('id', strings('{{project_id}}')),
    optional('name', name),
    optional('platform', platform),
    optional('config', projectConfig),
  ],
  store: [
    required('project_id', strings('{{project_id}}')),
    optional('store_id', strings('store-{{fresh}}')),
    required('store_type', strings('custom')),
    optional('is_sandbox', boolean),
    optional('status', text(1, 20).map(say)),
    optional(
      'store_config',
      object(
        optional('currency', currency),
        optional('webhook_enabled', boolean),
        optional('webhook_url', url),
        optional('provider', name),
        optional('api_key', secret),
        optional('webhook_secret', secret),
        optional('test_mode', boolean),
      ),
    ),
  ],
} as const satisfies { readonly [kind: string]: readonly Field[] }

export type BodyKind = keyof typeof FIELDS

/** Bodies of one kind: valid, almost valid, or random bytes. */
export function bodyOf(kind: BodyKind): fc.Arbitrary<Body> {
  const fields: readonly Field[] = FIELDS[kind]
  const right = entriesOf(fields)
  const place = fc.nat({ max: fields.length - 1 })
  const extra = fc.tuple(
    fc.constantFrom('extra', '__proto__', 'constructor', 'status_', ''),
    wildValue,
  )
  return fc.oneof(
    { weight: 5, arbitrary: right.map((entries) => body(objectOf(entries), 'accepted')) },
    // The server ignores unknown fields, whatever their values.
    {
      weight: 2,
      arbitrary: fc.tuple(right, extra).map(([entries, more]) => {
        return body(objectOf([...entries, more]), 'accepted')
      }),
    },
    // The last of several equal keys wins.
    {
      weight: 1,
      arbitrary: fc.tuple(right, wildValue).map(([entries, value]) => {
        const [first] = entries
        return body(objectOf(first ? [[first[0], value], ...entries] : entries), 'accepted')
      }),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(right, place).map(([entries, index]) => {
        const field = fields[index] as Field
        const left = entries.filter(([key]) => key !== field.name)
        return body(objectOf(left), field.required ? 'refused' : 'accepted')
      }),
    },
    {
      weight: 5,
      arbitrary: fc.tuple(right, place, wildValue).map(([entries, index, value]) => {
        const { name } = fields[index] as Field
        return body(objectOf([...entries.filter(([key]) => key !== name), [name, value]]))
      }),
    },
    { weight: 3, arbitrary: wildBody },
  )
}

const wildBody: fc.Arbitrary<Body> = fc.oneof(
  wildValue.map((value) => body(value)),
  fc.string({ unit: character, maxLength: 60 }).map((value) => body(value, 'refused')),
  fc
    .constantFrom(
      ...[
        '',
        ' ',
        '{',
        '[]',
        'null',
        '"',
        '{}}',
        '{"a":1,}',
        "{'a':1}",
        '\ufeff',
        'NaN',
        '{"a":01}',
      ],
      '['.repeat(100_000),
      ' '.repeat(250_000),
    )
    .map((value) => body(value, 'refused')),
  // Over the size limit of a body.
  fc.constant(body(`{"a":"${'a'.repeat(262_144)}"}`, 'refused')),
  // Invalid UTF-8: truncated, overlong, surrogates, UTF-16.
  fc
    .constantFrom('{"a":"\xc3"}', '{"a":"\xc0\xaf"}', '{"a":"\xed\xa0\x80"}', '\xff\xfe{\0}\0')
    .map((bytes): Body => ({ bytes, expected: 'refused' })),
)

function entriesOf(fields: readonly Field[]): fc.Arbitrary<Entry[]> {
  const entries = fields.map(({ name, value, required }) => {
    const sent = required ? value : fc.option(value)
    return sent.map((each): Entry[] => (each === null ? [] : [[name, each]]))
  })
  return fc.tuple(...entries).map((each) => each.flat())
}

function body(json: JsonText, expected?: Expected): Body {
  return { bytes: Buffer.from(json).toString('latin1'), expected }
}
