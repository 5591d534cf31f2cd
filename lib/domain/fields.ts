import { type ErrorDetail, excerpt, TillError } from '../errors.ts'

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/**
 * Validates a value and returns it as a `T`. For an invalid value, adds a mistake to `problems`;
 * the caller must then ignore the result. `field` is the path of the value: `config.webhook_url`.
 */
type Check<T> = (value: unknown, field: string, problems: ErrorDetail[]) => T

/** A function that validates a value, with the schema of the values that it accepts. */
export interface Rule<T> extends Check<T> {
  /** The schema may accept values that the rule rejects: JSON Schema cannot limit bytes. */
  readonly schema: JsonSchema
  /** Whether an object must have the field. */
  readonly isRequired?: true
}

/** A rule for each field of `T`. */
export type Fields<T> = { readonly [K in keyof Required<T>]: Rule<T[K] | undefined> }

/** A `T` in which optional fields may be missing but never undefined. */
export type Given<T> = { readonly [K in keyof T]: Exclude<T[K], undefined> }

/** A `T` in which all optional fields have their defaults. */
export type Complete<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> }

/** A `T` as an input, whose optional fields may also be undefined. */
export type Input<T> = {
  readonly [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K]
}

export type JsonObject = { [key: string]: unknown }

/**
 * Parses an object by a rule for each field. Throws an `invalid_request` that names every bad
 * field. An unknown field is an error, because it may be a misspelt optional one.
 */
export function parseObject<T extends object>(input: unknown, fields: Fields<T>): T {
  if (!isObject(input)) throw invalid('The input must be an object')
  const problems: ErrorDetail[] = []
  const parsed = parseFields(input, fields, '', problems)
  if (problems.length > 0) throw invalidFields(problems)
  return parsed
}

/**
 * Parses an object within another, as `parseObject` does. `path` is its JSON path. Adds mistakes to
 * `problems`, and returns undefined for a bad object.
 */
export function parseAt<T extends object>(
  input: unknown,
  fields: Fields<T>,
  path: string,
  problems: ErrorDetail[],
): T | undefined {
  if (!isObject(input)) {
    problems.push({ field: path, code: 'invalid', message: 'must be an object' })
    return undefined
  }
  const before = problems.length
  const parsed = parseFields(input, fields, `${path}.`, problems)
  return problems.length > before ? undefined : parsed
}

function parseFields<T extends object>(
  input: JsonObject,
  fields: Fields<T>,
  prefix: string,
  problems: ErrorDetail[],
): T {
  problems.push(...unknownFields(input, fields, prefix))
  const parsed: JsonObject = {}
  for (const field in fields) {
    const rule = fields[field] as Rule<unknown>
    const value = rule(input[field], prefix + field, problems)
    if (value !== undefined) parsed[field] = value
  }
  return parsed as T
}

/** Throws `invalid_request` when the input has a field that is not in `fields`. */
export function assertKnown(input: object, fields: object): void {
  const problems = unknownFields(input, fields)
  if (problems.length > 0) throw invalidFields(problems)
}

function unknownFields(input: object, fields: object, prefix = ''): ErrorDetail[] {
  const names = Object.keys(input).filter((name) => !Object.hasOwn(fields, name))
  const unknown = names.filter((name) => (input as JsonObject)[name] !== undefined)
  return unknown.map((name) => {
    const message = `is unknown. The fields are ${Object.keys(fields).join(', ')}`
    return { field: prefix + name, code: 'unknown', message }
  })
}

/** Creates the error for mistakes in fields: a sentence for people, and details for programs. */
export function invalidFields(problems: readonly ErrorDetail[]): TillError {
  const [first] = problems
  const message =
    problems.length === 1 && first
      ? `${excerpt(first.field ?? 'The request')} ${first.message}`
      : `${problems.length} fields are invalid`
  return new TillError('invalid_request', message, problems)
}

/** Creates the error for a field that contradicts stored records. */
export function invalidField(field: string, code: string, message: string): TillError {
  return invalidFields([{ field, code, message }])
}

function invalid(message: string): TillError {
  return new TillError('invalid_request', message)
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Creates a rule from a check and its schema. */
export function withSchema<T>(schema: JsonSchema, check: Check<T>): Rule<T> {
  const rule = check as Check<T> & { schema: JsonSchema }
  rule.schema = schema
  return rule
}

/** Returns the rule with a description in its schema. */
export function note<T>(description: string, rule: Rule<T>): Rule<T> {
  const check: Check<T> = (value, field, problems) => rule(value, field, problems)
  return withSchema({ ...rule.schema, description }, check)
}

/** The schema of an object with the given fields. Further fields are allowed. */
export function objectSchema(fields: { readonly [field: string]: Rule<unknown> }): JsonSchema {
  const entries = Object.entries(fields)
  const required = entries.filter(([, rule]) => rule.isRequired).map(([field]) => field)
  const properties = Object.fromEntries(entries.map(([field, { schema }]) => [field, schema]))
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

export function required<T>(rule: Rule<T>): Rule<T | undefined> {
  const check: Check<T | undefined> = (value, field, problems) => {
    if (value !== undefined) return rule(value, field, problems)
    problems.push({ field, code: 'required', message: 'is required' })
    return undefined
  }
  return Object.assign(withSchema(rule.schema, check), { isRequired: true as const })
}

export function optional<T>(rule: Rule<T>): Rule<T | undefined>
export function optional<T>(rule: Rule<T>, fallback: () => T): Rule<T>
export function optional<T>(rule: Rule<T>, fallback?: () => T): Rule<T | undefined> {
  const schema = fallback ? { ...rule.schema, default: fallback() } : rule.schema
  return withSchema(schema, (value, field, problems) =>
    value === undefined ? fallback?.() : rule(value, field, problems),
  )
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

export const currency = pattern(/^[A-Z]{3}$/, 'must be a currency code of three capitals: USD')

export const bundleId = pattern(
  /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$/,
  'must be in reverse-domain form, at least two labels of letters, digits, _ and -: com.example.game',
  155,
)

/** A rule for a URI scheme (RFC 3986 section 3.1), or '' for none. */
export const deepLinkScheme = pattern(
  /^([A-Za-z][A-Za-z0-9+.-]{0,254})?$/,
  'must be a URI scheme without "://": mygame',
)

export function list<T>(entry: Rule<T>, max: number): Rule<T[]> {
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

/** A rule for a free-form object. Checks the values of the given keys and allows other keys. */
export function config(keys: { readonly [key: string]: Rule<unknown> }): Rule<JsonObject> {
  const schema = { ...freeForm.schema, ...objectSchema(keys) }
  return withSchema(schema, (value, field, problems) => {
    const before = problems.length
    const object = freeForm(value, field, problems)
    if (problems.length > before) return object
    for (const [key, check] of Object.entries(keys)) {
      if (Object.hasOwn(object, key)) check(object[key], `${field}.${key}`, problems)
    }
    return object
  })
}

/** A rule that allows `null`, and all values that the given rule allows. */
export function orNull<T>(rule: Rule<T>): Rule<T | null> {
  const schema = { ...rule.schema, type: [rule.schema.type, 'null'] }
  return withSchema(schema, (value, field, problems) =>
    value === null ? null : rule(value, field, problems),
  )
}

/** Whether two JSON values are equal, regardless of the order of members. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((member, i) => isSameJson(member, b[i]))
  }
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
}

const MAX_DEPTH = 32
const MAX_BYTES = 64 * 1024

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

// Walks level by level, because recursion would overflow the stack on deep input. In an object with
// cycles, the limit on the number of values ends the walk.
function freeFormProblem(root: JsonObject): string | undefined {
  let visited = 0
  let level: object[] = [root]
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `must not nest more than ${MAX_DEPTH} deep`
    const deeper: object[] = []
    for (const object of level) {
      if (!isPlain(object)) return 'must hold JSON values only'
      const isArray = Array.isArray(object)
      if (!isArray && !Object.keys(object).every(isText)) return MALFORMED_TEXT
      for (const value of isArray ? object : Object.values(object)) {
        if (++visited > MAX_BYTES) return TOO_LARGE
        if (typeof value === 'object' && value !== null) deeper.push(value)
        else {
          const problem = scalarProblem(value)
          if (problem) return problem
        }
      }
    }
    level = deeper
  }
  const json = JSON.stringify(root)
  // A code unit takes at most 3 bytes in UTF-8, so a short text is never too large. Counting its
  // bytes would double the time for a small object.
  if (json.length <= MAX_BYTES / 3) return undefined
  return json.length > MAX_BYTES || utf8Length(json) > MAX_BYTES ? TOO_LARGE : undefined
}

export const TOO_LARGE = `must not take more than ${MAX_BYTES / 1024} KiB as JSON`
const MALFORMED_TEXT = 'must hold well-formed Unicode text without U+0000'

/**
 * Whether JSON text is too large for a free-form object. Does not count blanks, and counts an
 * escape as one character. Call it before `JSON.parse`: parsed text like `[{},{},…]` takes 24 times
 * the memory of the text.
 */
export function isTooLargeJson(json: string): boolean {
  if (json.length <= MAX_BYTES) return false
  let length = 0
  let isInString = false
  for (let at = 0; at < json.length && length <= MAX_BYTES; at++) {
    const code = json.charCodeAt(at)
    if (!isInString && code <= SPACE) continue
    length++
    if (code === QUOTE) isInString = !isInString
    else if (isInString && code === BACKSLASH) at += json[at + 1] === 'u' ? 5 : 1
  }
  return length > MAX_BYTES
}

const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c

function scalarProblem(value: unknown): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'string') return isText(value) ? undefined : MALFORMED_TEXT
  if (typeof value !== 'number') return 'must hold JSON values only'
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    return 'must hold finite numbers, integers within ±(2^53−1): send larger ones as strings'
  }
  return undefined
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Whether every storage can store the string: no lone surrogates, no U+0000. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
}

/** Whether a text has `min` to `max` code points. */
function isLength(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > 2 * max) return false
  return value.length <= max || [...value].length <= max
}

function utf8Length(value: string): number {
  return new TextEncoder().encode(value).length
}

function protocolOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).protocol : undefined
}
