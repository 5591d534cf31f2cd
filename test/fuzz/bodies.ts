import { type Operation, resolve, type Schema } from '../openapi/document.ts'
import { type Choose, valuesOf } from '../openapi/requests.ts'
import { character, fc } from '../support/seeds.ts'
import { type Entry, type JsonText, objectOf, say, wildValue } from './json.ts'

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

/**
 * Values that the records of the world require. `world.fill` replaces the parts in braces. No later
 * response may contain a canary.
 */
const KNOWN: { readonly [operation: string]: { readonly [field: string]: string } } = {
  initSession: { public_key: '{{public_key}}' },
  createToken: { public_key: '{{public_key}}' },
  createItem: { store_id: 'main', name: 'sku_{{fresh}}' },
  createProject: { account_id: '{{account_id}}' },
  updateProject: { id: '{{project_id}}' },
  createStore: { project_id: '{{project_id}}', store_id: 'store-{{fresh}}' },
}
const EVERYWHERE: { readonly [field: string]: unknown } = {
  webhook_secret: 'canary-{{fresh}}',
  shared_secret: 'canary-{{fresh}}',
  api_key: 'canary-{{fresh}}',
  allowed_currencies: ['USD', 'EUR', 'JPY', 'RUB'],
  currency: 'EUR',
}

/** The fields of a JSON body, with valid values. */
function fieldsOf({ id, body }: Operation): readonly Field[] {
  const choose: Choose = (name, any) => {
    const known = KNOWN[id]?.[name] ?? EVERYWHERE[name]
    return known === undefined ? any : fc.constant(known)
  }
  const schema = resolve<Schema>(body?.schema as { $ref: string })
  const [first = schema] = (schema.oneOf as Schema[] | undefined) ?? []
  const { properties = {}, required = [] } = resolve<Schema>(first as { $ref: string })
  return Object.entries(properties).map(([name, each]) => ({
    name,
    value: valuesOf(each, choose, name).map(say),
    required: required.includes(name),
  }))
}

/** Bodies of an operation: valid, almost valid, or random bytes. */
export function bodyOf(operation: Operation): fc.Arbitrary<Body> {
  const fields = fieldsOf(operation)
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
