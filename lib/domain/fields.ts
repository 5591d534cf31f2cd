import { type ErrorDetail, excerpt, TillError } from '../errors.ts'

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

/** A rule for each field of an object. */
export type Fields = { readonly [field: string]: Rule<unknown> }

/**
 * An input that the rules accept. A field that it may lack may also be undefined.
 *
 * @example
 * const fields = { name: required(text(1, 9)), limit: optional(wholeNumber(1, 9), () => 5) }
 * InputOf<typeof fields> // { name: string, limit?: number | undefined }
 */
export type InputOf<F> = {
  readonly [K in keyof F as F[K] extends AlwaysSent ? K : never]: InputOfRule<F[K]>
} & {
  readonly [K in keyof F as F[K] extends AlwaysSent ? never : K]?: InputOfRule<F[K]>
}

type AlwaysSent = { readonly isRequired: true }
type InputOfRule<R> = R extends Rule<unknown, infer I> ? I : never

/**
 * A parsed input. It has the defaults of the rules. Its other fields may be missing, but are never
 * undefined.
 *
 * @example
 * const fields = { limit: optional(wholeNumber(1, 9), () => 5), after: optional(text(1, 9)) }
 * ParsedOf<typeof fields> // { limit: number, after?: string }
 */
export type ParsedOf<F> = {
  readonly [K in keyof F as undefined extends ValueOf<F[K]> ? never : K]: ValueOf<F[K]>
} & {
  readonly [K in keyof F as undefined extends ValueOf<F[K]> ? K : never]?: Exclude<
    ValueOf<F[K]>,
    undefined
  >
}

type ValueOf<R> = R extends Rule<infer T, unknown> ? T : never

export type JsonObject = { [key: string]: unknown }

/**
 * Parses an object by a rule for each field. Throws an `invalid_request` that names every bad
 * field. An unknown field is an error, because it may be a misspelt optional one.
 */
export function parseObject<F extends Fields>(input: unknown, fields: F): ParsedOf<F> {
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
export function parseAt<F extends Fields>(
  input: unknown,
  fields: F,
  path: string,
  problems: ErrorDetail[],
): ParsedOf<F> | undefined {
  if (!isObject(input)) {
    problems.push({ field: path, code: 'invalid', message: 'must be an object' })
    return undefined
  }
  const before = problems.length
  const parsed = parseFields(input, fields, `${path}.`, problems)
  return problems.length > before ? undefined : parsed
}

function parseFields<F extends Fields>(
  input: JsonObject,
  fields: F,
  prefix: string,
  problems: ErrorDetail[],
): ParsedOf<F> {
  for (const problem of unknownFields(input, fields, prefix)) problems.push(problem)
  const parsed: JsonObject = {}
  for (const field in fields) {
    const value = (fields[field] as Rule<unknown>)(input[field], prefix + field, problems)
    if (value !== undefined) parsed[field] = value
  }
  return parsed as ParsedOf<F>
}

/** The fields of a parsed input that were sent: without defaults, in the order of the rules. */
export function sentFields<P extends object>(parsed: P, input: object): Partial<P> {
  const sent: JsonObject = { ...input }
  const entries = Object.entries(parsed).filter(
    ([field]) => sent[field] !== undefined && sent[field] !== null,
  )
  return Object.fromEntries(entries) as Partial<P>
}

function unknownFields(input: JsonObject, fields: Fields, prefix: string): ErrorDetail[] {
  const names = Object.keys(input)
  const unknown = names.filter((name) => !Object.hasOwn(fields, name) && input[name] !== undefined)
  if (unknown.length === 0) return []
  const known = Object.keys(fields)
  const spellings = spellingsOf(known)
  return unknown.map((name) => {
    const meant = spellings.get(lettersOf(name))
    const message = meant ? spelled(meant) : `is unknown. The fields are ${known.join(', ')}`
    return { field: prefix + name, code: 'unknown', message }
  })
}

/**
 * Throws `invalid_request` for each name that is a known field in another spelling, such as
 * `isSandbox`: a caller that ignores unknown fields would lose it.
 */
export function assertSpelling(names: Iterable<string>, fields: readonly string[]): void {
  const problems: ErrorDetail[] = []
  const spellings = spellingsOf(fields)
  for (const field of names) {
    const meant = fields.includes(field) ? undefined : spellings.get(lettersOf(field))
    if (meant) problems.push({ field, code: 'unknown', message: spelled(meant) })
  }
  const [first] = problems
  if (!first) return
  const { message } = invalidFields(problems)
  const text = problems.length === 1 ? `The field ${message}` : message
  throw new TillError('invalid_request', text, problems)
}

/** The fields by what their other spellings share: with capitals, or without underscores. */
function spellingsOf(fields: readonly string[]): ReadonlyMap<string, string> {
  return new Map(fields.map((field) => [lettersOf(field), field]))
}

function spelled(meant: string): string {
  return `must be spelled ${meant}`
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, '')
}

/** A message names at most so many fields. The details have the others. */
const MAX_NAMED = 3

/** Creates the error for mistakes in fields: a sentence for people, and details for programs. */
export function invalidFields(problems: readonly ErrorDetail[]): TillError {
  const [first] = problems
  const names = problems.slice(0, MAX_NAMED).map(({ field }) => excerpt(field ?? 'The request'))
  if (problems.length > MAX_NAMED) names.push('…')
  const message =
    problems.length === 1 && first
      ? `${names[0]} ${first.message}`
      : `${problems.length} fields are invalid: ${names.join(', ')}`
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

/** The schema of an object with the given fields. Further fields are allowed. */
export function objectSchema(fields: Fields): JsonSchema {
  const entries = Object.entries(fields)
  const required = entries.filter(([, rule]) => rule.isRequired).map(([field]) => field)
  const properties = Object.fromEntries(entries.map(([field, { schema }]) => [field, schema]))
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

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

/** The fields of a change: an input may lack each of them, and they have no defaults. */
export function optionalFields<F extends Fields>(fields: F) {
  const entries = Object.entries(fields).map(([field, rule]) => {
    const { default: _, ...schema } = rule.schema
    return [field, optional(withSchema(schema, rule))]
  })
  return Object.fromEntries(entries) as {
    readonly [K in keyof F]: F[K] extends Rule<infer T, infer I>
      ? Rule<T | undefined, I | undefined>
      : never
  }
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

/** A rule for a URI scheme (RFC 3986 section 3.1), with or without `://`, or '' for none. */
export const deepLinkScheme = pattern(
  /^([A-Za-z][A-Za-z0-9+.-]{0,254}(:\/\/)?)?$/,
  'must be a URI scheme: mygame or mygame://',
)

/** A rule for an object that has no other fields. `I` is a name of its type in an input. */
export function object<F extends Fields, I = InputOf<F>>(fields: F): Rule<ParsedOf<F>, I> {
  const schema = { ...objectSchema(fields), additionalProperties: false }
  return withSchema(
    schema,
    (value, field, problems) => parseAt(value, fields, field, problems) as ParsedOf<F>,
  )
}

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
 * A rule for a free-form object. Checks the values of the given keys and allows other keys, but not a
 * given key in another spelling or with a typing mistake: a setting would be lost, and a secret would
 * be stored as a value that others may read. Leaves out a given key that is null, unless its rule is
 * one of `orNull`.
 */
export function config(keys: Fields): Rule<JsonObject> {
  const schema = { ...freeForm.schema, ...objectSchema(keys) }
  const spellings = spellingsOf(Object.keys(keys))
  return withSchema(schema, (value, field, problems) => {
    const before = problems.length
    const object = freeForm(value, field, problems)
    if (problems.length > before) return object
    for (const key of Object.keys(object)) {
      if (Object.hasOwn(keys, key)) continue
      const meant = spellings.get(lettersOf(key))
      const typo = meant ? undefined : Object.keys(keys).find((each) => isMistyped(key, each))
      if (!meant && !typo) continue
      const message = meant ? spelled(meant) : `is unknown: did you mean ${typo}?`
      problems.push({ field: `${field}.${key}`, code: 'unknown', message })
    }
    const nulls: string[] = []
    for (const [key, check] of Object.entries(keys)) {
      if (!Object.hasOwn(object, key)) continue
      if (object[key] === null && !isNullable(check)) nulls.push(key)
      else check(object[key], `${field}.${key}`, problems)
    }
    if (nulls.length === 0) return object
    return Object.fromEntries(Object.entries(object).filter(([key]) => !nulls.includes(key)))
  })
}

/** Whether two words differ by one letter, or by two neighbouring letters that are swapped. */
function isMistyped(word: string, known: string): boolean {
  if (Math.abs(word.length - known.length) > 1) return false
  const shorter = Math.min(word.length, known.length)
  let start = 0
  while (start < shorter && word[start] === known[start]) start++
  let end = 0
  while (end < shorter - start && word.at(-1 - end) === known.at(-1 - end)) end++
  const [one, other] = [
    word.slice(start, word.length - end),
    known.slice(start, known.length - end),
  ]
  const isSwapped = one.length === 2 && one === `${other[1]}${other[0]}`
  return isSwapped || (one.length <= 1 && other.length <= 1)
}

function isNullable({ schema: { type } }: Rule<unknown>): boolean {
  return Array.isArray(type) && type.includes('null')
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

/** Parses JSON. Returns undefined for malformed text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const MAX_DEPTH = 32
/** The maximum number of bytes of a free-form object as JSON. */
export const MAX_BYTES = 64 * 1024

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

function freeFormProblem(root: JsonObject): string | undefined {
  let visited = 0
  // The limits of depth and number also end the walk of an object with cycles.
  const check = (value: unknown, depth: number): string | undefined => {
    if (++visited > MAX_BYTES) return TOO_LARGE
    if (typeof value !== 'object' || value === null) return scalarProblem(value)
    if (depth > MAX_DEPTH) return `must not nest more than ${MAX_DEPTH} deep`
    if (!isPlain(value)) return 'must hold JSON values only'
    if (!Array.isArray(value) && !Object.keys(value).every(isText)) return MALFORMED_TEXT
    for (const each of Array.isArray(value) ? value : Object.values(value)) {
      const problem = check(each, depth + 1)
      if (problem) return problem
    }
    return undefined
  }
  const problem = check(root, 1)
  if (problem) return problem
  const json = JSON.stringify(root)
  // A code unit takes at most 3 bytes in UTF-8, so a short text is never too large. Counting its
  // bytes would double the time for a small object.
  if (json.length <= MAX_BYTES / 3) return undefined
  return new TextEncoder().encode(json).length > MAX_BYTES ? TOO_LARGE : undefined
}

export const TOO_LARGE = `must not take more than ${MAX_BYTES / 1024} KiB as JSON`
const MALFORMED_TEXT = 'must hold well-formed Unicode text without U+0000'

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
export function isLength(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > 2 * max) return false
  return value.length <= max || [...value].length <= max
}

function protocolOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).protocol : undefined
}
