import { fc } from '../support/seeds.ts'

/** JSON as text, because JSON.stringify cannot write 1e400 or a repeated key. */
export type JsonText = string

export const say = (value: unknown): JsonText => JSON.stringify(value)

/** Well-formed text without control characters, but with many that break escaping or counting. */
export const text = (minLength: number, maxLength: number): fc.Arbitrary<string> => {
  const unit = fc.constantFrom(...'aZ09_ "\'\\/<&%;=,é€ß中\u{1F600}\u2028\ufeff')
  return fc.string({ unit, minLength, maxLength })
}

const KEYS = ['a', '', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', 'é']
const key = fc.oneof(text(0, 8), fc.constantFrom(...KEYS))

const scalar = fc.oneof(
  text(0, 20).map(say),
  fc.maxSafeInteger().map(say),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }).map(say),
  fc.constantFrom('null', 'true', 'false', '-0', '1.50', '"\\u00e9\\ud83d\\ude00"'),
)

const entriesOf = (value: fc.Arbitrary<JsonText>) =>
  fc.array(fc.tuple(key, value), { maxLength: 4 }).map(objectOf)

const { value } = fc.letrec<{ value: JsonText }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }).map((each) => `[${each}]`),
    entriesOf(tie('value')),
  ),
}))

export type Entry = readonly [key: string, value: JsonText]

export function objectOf(entries: readonly Entry[]): JsonText {
  return `{${entries.map(([key, value]) => `${say(key)}:${value}`)}}`
}

const nested = fc
  .tuple(fc.constantFrom(2, 31, 32, 33, 5_000, 30_000), fc.constantFrom('[', '{"a":'))
  .map(([depth, open]) => `${open.repeat(depth)}1${(open === '[' ? ']' : '}').repeat(depth)}`)

const long = fc
  .tuple(
    fc.constantFrom(64, 65, 255, 256, 4_096, 4_097, 70_000, 240_000),
    fc.constantFrom('a', 'é'),
  )
  .map(([length, letter]) => say(letter.repeat(letter === 'a' ? length : length / 2)))

const ODD = [
  ...['null', 'true', '0', '-1', '1.5', '1e400', '-1e999', '9007199254740993', '1e-400', '499'],
  ...['""', '" "', '"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00a"', '"\\u007f\\n"'],
  ...['[]', '[null]', '{}', '[[[]]]', '{"__proto__":{"a":1}}', '{"a":"\\ud800"}', '{"\\u0000":1}'],
  ...['{"a":1e400}', '{"a":9007199254740992}', '"__proto__"', '"null"', '"-1"', '"4.99"', '"１"'],
]

/** Values of every type, at and beyond every limit. */
export const wildValue: fc.Arbitrary<JsonText> = fc.oneof(
  { arbitrary: fc.constantFrom(...ODD), weight: 6 },
  { arbitrary: value, weight: 3 },
  { arbitrary: nested, weight: 1 },
  { arbitrary: long, weight: 1 },
)
