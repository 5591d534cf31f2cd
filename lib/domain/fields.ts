import { type ErrorDetail, excerpt, TillError } from '../errors.ts'
import { isObject, type JsonObject } from './json.ts'
import { freeForm, isNullable, type JsonSchema, optional, type Rule, withSchema } from './rules.ts'

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
  const names = Object.keys(input).filter((name) => input[name] !== undefined)
  const unknown = findUnknown(names, Object.keys(fields), 'fields')
  return unknown.map(({ meant: _, field, ...detail }) => ({ field: prefix + field, ...detail }))
}

/** Finds the names that are no known one. `meant` is the known one of which it is another spelling. */
function findUnknown(names: Iterable<string>, known: readonly string[], noun: string) {
  const unknown = [...names].filter((name) => !known.includes(name))
  if (unknown.length === 0) return []
  const spellings = spellingsOf(known)
  const list = known.length > 0 ? `The ${noun} are ${known.join(', ')}` : `There are no ${noun}`
  return unknown.map((field) => {
    const meant = spellings.get(lettersOf(field))
    const message = meant ? spelled(meant) : `is unknown. ${list}`
    return { field, code: 'unknown', message, meant }
  })
}

/**
 * Throws `invalid_request` for each name that is a known field in another spelling, such as
 * `isSandbox`: a caller that ignores unknown fields would lose it. With `ignoresOthers: false`, also
 * for each other unknown name.
 */
export function assertSpelling(
  names: Iterable<string>,
  known: readonly string[],
  { noun = 'field', ignoresOthers = true } = {},
): void {
  const problems = findUnknown(names, known, `${noun}s`)
    .filter(({ meant }) => meant !== undefined || !ignoresOthers)
    .map(({ meant: _, ...detail }) => detail)
  if (problems.length === 0) return
  const { message } = invalidFields(problems)
  const text = problems.length === 1 ? `The ${noun} ${message}` : message
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

/** The schema of an object with the given fields. Further fields are allowed. */
export function objectSchema(fields: Fields): JsonSchema {
  const entries = Object.entries(fields)
  const required = entries.filter(([, rule]) => rule.isRequired).map(([field]) => field)
  const properties = Object.fromEntries(entries.map(([field, { schema }]) => [field, schema]))
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
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

/** A rule for an object that has no other fields. `I` is a name of its type in an input. */
export function object<F extends Fields, I = InputOf<F>>(fields: F): Rule<ParsedOf<F>, I> {
  const schema = { ...objectSchema(fields), additionalProperties: false }
  return withSchema(
    schema,
    (value, field, problems) => parseAt(value, fields, field, problems) as ParsedOf<F>,
  )
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

/** The fewest letters of a key whose mistyped forms are refused: `app_key` is a word beside `api_key`. */
const LONG_KEY = 8

/**
 * Whether two words differ by one letter, or by two neighbouring letters that are swapped. A letter or
 * digit at the end, as in `platform2`, makes a word of its own.
 */
function isMistyped(word: string, known: string): boolean {
  if (known.length < LONG_KEY || Math.abs(word.length - known.length) > 1) return false
  if (word.startsWith(known)) return false
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
