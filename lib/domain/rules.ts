import type { ErrorDetail } from '../errors.ts'
import {
  freeFormProblem,
  isLength,
  isObject,
  isText,
  type JsonObject,
  MAX_BYTES,
  MAX_DEPTH,
} from './json.ts'

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/**
 * Validates a value and returns it as a `T`. For an invalid value, adds a mistake to `problems`;
 * the caller must then ignore the result. `field` is the path of the value: `config.webhook_url`.
 */
type Check<T> = (value: unknown, field: string, problems: ErrorDetail[]) => T

/**
 * A function that validates a value, with the schema of the values that it accepts. `I` is the type
 * of the value in an input, if it is not that of the result.
 */
export interface Rule<T, I = T> extends Check<T> {
  /** The schema may accept values that the rule rejects: JSON Schema cannot limit bytes. */
  readonly schema: JsonSchema
  /** Whether an object must have the field. */
  readonly isRequired?: true
  /** Is never set: `InputOf` uses its type. */
  readonly input?: I
}

/** Creates a rule from a check and its schema. */
export function withSchema<T, I = T>(schema: JsonSchema, check: Check<T>): Rule<T, I> {
  const rule: Check<T> = (value, field, problems) => check(value, field, problems)
  return Object.assign(rule, { schema })
}

/** A rule for a value that a program passes on, such as a function. */
export function unchecked<T>(): Rule<T> {
  return withSchema({}, (value) => value as T)
}

/** Returns the rule with a description in its schema. */
export function note<T, I>(description: string, rule: Rule<T, I>): Rule<T, I> {
  return withSchema({ ...rule.schema, description }, rule)
}

/**
 * A rule for a field that an object must have. Undefined is a mistake, `null` is left to the rule.
 */
export function required<T, I>(rule: Rule<T, I>): Rule<T, I> & { readonly isRequired: true } {
  const check: Check<T> = (value, field, problems) => {
    if (value !== undefined) return rule(value, field, problems)
    problems.push({ field, code: 'required', message: 'is required' })
    return undefined as T
  }
  return Object.assign(withSchema<T, I>(rule.schema, check), { isRequired: true as const })
}

export function optional<T, I>(rule: Rule<T, I>): Rule<T | undefined, I | undefined>
export function optional<T, I>(rule: Rule<T, I>, fallback: () => NoInfer<T>): Rule<T, I | undefined>
export function optional<T>(rule: Rule<T>, fallback?: () => T): Rule<T | undefined> {
  const schema = fallback ? { ...rule.schema, default: fallback() } : rule.schema
  // Serializers write `null` for a field without a value.
  return withSchema(schema, (value, field, problems) =>
    value === undefined || (value === null && !isNullable(rule))
      ? fallback?.()
      : rule(value, field, problems),
  )
}

/** A rule for an optional field that some serializers, such as Unity's, send empty. */
export function optionalOrEmpty<T, I>(rule: Rule<T, I>): Rule<T | undefined, I | undefined> {
  const { enum: values, ...schema } = rule.schema
  const listed = Array.isArray(values) ? { ...schema, enum: [...values, ''] } : schema
  return optional(
    withSchema(listed, (value, field, problems) =>
      value === '' ? (undefined as T) : rule(value, field, problems),
    ),
  )
}

/** A rule that allows `null`, and all values that the given rule allows. */
export function orNull<T>(rule: Rule<T>): Rule<T | null> {
  const schema = { ...rule.schema, type: [rule.schema.type, 'null'] }
  return withSchema(schema, (value, field, problems) =>
    value === null ? null : rule(value, field, problems),
  )
}

/** Whether `null` is a value that the rule may allow. */
export function isNullable({ schema: { type } }: Rule<unknown>): boolean {
  return Array.isArray(type) && type.includes('null')
}

/** Creates a rule from a test, a message that describes the expected value, and its schema. */
export function rule<T>(
  test: (value: unknown) => value is T,
  expected: string,
  schema: JsonSchema,
): Rule<T> {
  return withSchema(schema, (value, field, problems) => {
    if (!test(value)) problems.push({ field, code: 'invalid', message: expected })
    return value as T
  })
}

const CONTROL_CHARACTER = /\p{Cc}/u
/**
 * Matches text without control characters, also in JSON Schema validators that do not know
 * `\p{Cc}`.
 */
const NO_CONTROL_CHARACTERS = '^[^\\u0000-\\u001f\\u007f-\\u009f]*$'
const NO_NUL = '^[^\\u0000]*$'

/** A rule for text: `min` to `max` code points of well-formed Unicode without U+0000. */
export function text(min: number, max: number, options: { control?: boolean } = {}): Rule<string> {
  const control = options.control ?? true
  const kind = control ? '' : ' without control characters'
  return rule(
    (value): value is string =>
      isText(value) && isLength(value, min, max) && (control || !CONTROL_CHARACTER.test(value)),
    `must be a string of ${min} to ${max} characters${kind}`,
    {
      type: 'string',
      ...(min > 0 && { minLength: min }),
      maxLength: max,
      pattern: control ? NO_NUL : NO_CONTROL_CHARACTERS,
    },
  )
}

/** A rule for strings that match `regexp` and have at most `max` code units. */
export function pattern(regexp: RegExp, expected: string, max?: number): Rule<string> {
  return rule(
    (value): value is string =>
      typeof value === 'string' && !(max && value.length > max) && regexp.test(value),
    expected,
    { type: 'string', ...(max && { maxLength: max }), pattern: regexp.source },
  )
}

/** A rule for one of the given texts. */
export function oneOf<const T extends string>(values: readonly T[]): Rule<T> {
  return rule(
    (value): value is T => (values as readonly unknown[]).includes(value),
    `must be one of ${values.join(', ')}`,
    { type: 'string', enum: values },
  )
}

export const boolean = rule(
  (value): value is boolean => typeof value === 'boolean',
  'must be true or false',
  { type: 'boolean' },
)

/** A rule for an integer from `min` to `max`. A text of digits is a mistake. */
export function wholeNumber(min: number, max: number): Rule<number> {
  return rule(
    (value): value is number =>
      Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    `must be a whole number from ${min} to ${max}`,
    { type: 'integer', minimum: min, maximum: max },
  )
}

/** A rule for any absolute URL (`https:`, `myapp:`) that cannot run as a script. */
export const linkUrl = rule(
  (value): value is string =>
    isText(value) && /^(?!(javascript|data|vbscript):)./.test(protocolOf(value) ?? ''),
  'must be an absolute URL',
  { type: 'string', format: 'uri', description: 'An absolute URL, such as `myapp:paid`.' },
)

function protocolOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).protocol : undefined
}

export const currency = pattern(/^[A-Z]{3}$/, 'must be a currency code of three capitals: USD')

export const bundleId = pattern(
  /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$/,
  'must be in reverse-domain form, at least two labels of letters, digits, _ and -: com.example.game',
  155,
)

/** A rule for a URI scheme (RFC 3986 section 3.1), with or without `://`, or '' for none. */
export const deepLinkScheme = pattern(
  /^([A-Za-z][A-Za-z0-9+.-]{0,254}(:\/\/)?)?$/,
  'must be a URI scheme: mygame or mygame://',
)

/** A rule for an array of at most `max` entries. Names each bad entry by its index: `tags[2]`. */
export function list<T>(entry: Rule<T>, max: number): Rule<T[], readonly T[]> {
  const schema = { type: 'array', items: entry.schema, maxItems: max }
  return withSchema(schema, (value, field, problems) => {
    if (!Array.isArray(value) || value.length > max) {
      problems.push({
        field,
        code: 'invalid',
        message: `must be an array of at most ${max} entries`,
      })
      return []
    }
    return value.map((each, index) => entry(each, `${field}[${index}]`, problems))
  })
}

/**
 * A rule for a JSON object of at most 32 levels and 64 KiB. Allows only values that every storage
 * keeps unchanged.
 */
export const freeForm: Rule<JsonObject> = withSchema(
  {
    type: 'object',
    additionalProperties: true, // code generators take an object without properties to be empty
    description: `Up to ${MAX_BYTES / 1024} KiB and ${MAX_DEPTH} nested levels.`,
  },
  (value, field, problems) => {
    const message = isObject(value) ? freeFormProblem(value) : 'must be an object'
    if (message) problems.push({ field, code: 'invalid', message })
    return value as JsonObject
  },
)
