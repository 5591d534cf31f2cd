import { type Answer, type Call, type Credential, Mismatch } from './client.ts'
import { CREDENTIALS, type Endpoint, endpointOf } from './endpoints.ts'
import { decodePart, type Fields, holds, isObject, mistakesOf, valueAt } from './shape.ts'
import type { World } from './world.ts'

/** A valid request with changes, and the names of the changed fields. */
export type ChangedCall = Call & { readonly changed?: readonly string[] }

/** One sentence of the specification, as a request and the expected answer. */
export interface Row {
  /** The number of the endpoint. */
  readonly endpoint: number
  readonly title: string
  /** The part of the specification that contains the sentence. */
  readonly clause: string
  /** The allowed statuses. `2XX` stands for all statuses from 200 to 299. */
  readonly statuses: readonly string[]
  /** Whether the specification allows other behaviour. A mismatch is then a note, not a failure. */
  readonly isOpen: boolean
  /**
   * The wrong fields of the request; default the changed ones. tillkit names them in its answer.
   * Other servers need not.
   */
  readonly fields?: readonly string[]
  readonly call: (world: World) => Promise<ChangedCall>
  /** Judges an answer with one of the statuses. */
  readonly judge?: (answer: Answer, world: World, call: ChangedCall) => unknown
}

/** Sends the request of a row and judges the answer. Throws a Mismatch if it differs. */
export async function runRow(
  row: Row,
  world: World,
): Promise<{ call: ChangedCall; answer: Answer }> {
  const call = await row.call(world)
  const answer = await world.call(row.endpoint, call)
  expectStatus(answer, row.statuses)
  await row.judge?.(answer, world, call)
  return { call, answer }
}

function expectStatus(answer: Answer, statuses: readonly string[]): void {
  const status = String(answer.status)
  const isAllowed = statuses.some((each) => each === status || each === `${status[0]}XX`)
  expect(isAllowed, `status ${statuses.join(' or ')}`, answer)
}

/** Throws a Mismatch unless the condition is met. */
export function expect(isMet: boolean, expected: string, { status, text, request }: Answer): void {
  if (!isMet) throw new Mismatch(expected, `${status} ${text}`, request)
}

/** Expects fields to have these values. Ignores missing ones: another row reports them. */
export function expectValues(answer: Answer, values: object, body = answer.body): void {
  for (const [name, value] of Object.entries(values)) {
    const found = valueAt(body, name)
    const isRight = found === undefined || holds(found, value)
    expect(isRight, `${name} to be ${JSON.stringify(value)}`, answer)
  }
}

/** The description of an endpoint. Most of its rows are made from it. */
export interface EndpointRows {
  readonly number: number
  /** Creates a valid request with all fields, for new records. */
  readonly request: (world: World) => Promise<Call>
  /** Optional fields of tillkit that every request of the specification has. */
  readonly kept?: readonly string[]
  /** Puts an unusual text into one of the fields. */
  readonly unusual?: (text: string) => object
  /**
   * The rows that only this endpoint has. Those of `open` are about recommended behaviour, which the
   * specification leaves open.
   */
  readonly rows: (tools: Tools, open: Tools) => readonly Row[]
}

/**
 * Changes of a valid request: new values for fields of its JSON body, such as `name` or
 * `config.webhook_url`, or for parts of its form. Without a body, they are new values for properties
 * of the call. Undefined removes a field.
 */
type Changes = object | ((world: World) => object | Promise<object>)

export type Tools = ReturnType<typeof createTools>

/** Creates the functions that make the rows of one endpoint. */
export function createTools(
  { number, request }: Pick<EndpointRows, 'number' | 'request'>,
  isOpen = false,
) {
  const changed = (changes: Changes) => async (world: World) => {
    const made = typeof changes === 'function' ? await changes(world) : changes
    return { ...applyTo(await request(world), made), changed: Object.keys(made) }
  }
  type More = Partial<Row> & { readonly changes?: Changes }
  /**
   * Succeeds unless `more` has other statuses. A `clause` that begins with a colon is a part of the
   * section about the endpoint.
   */
  const row = (title: string, clause: string, { changes = {}, ...more }: More = {}): Row => ({
    endpoint: number,
    title,
    statuses: ['2XX'],
    isOpen,
    call: changed(changes),
    clause: clause.startsWith(':') ? `Endpoint ${number}${clause}` : clause,
    ...more,
  })
  return {
    request,
    row,
    /** A valid request with these changes succeeds. */
    accepts: (what: string, clause: string, changes: Changes) =>
      row(`accepts ${what}`, clause, { changes }),
    /** A valid request with these changes gets one of these error statuses; default 400. */
    refuses: (what: string, clause: string, changes: Changes, ...statuses: string[]) => {
      const title = [`refuses ${what}`, statuses.join(' or ')].filter(Boolean).join(' with ')
      return row(title, clause, { changes, statuses: statuses.length > 0 ? statuses : ['400'] })
    },
    /** The answer to a valid request with these changes has these values. */
    returns: (what: string, clause: string, changes: Changes, values: object) => {
      const judge = (answer: Answer) => expectValues(answer, values)
      return row(`returns ${what}`, clause, { changes, judge })
    },
  }
}

function applyTo(call: Call, changes: object): Call {
  if (isObject(call.json)) return { ...call, json: replaceAt(call.json, changes) }
  if (!call.form) return { ...call, ...changes }
  const parts = Object.entries({ ...call.form, ...changes })
  return { ...call, form: Object.fromEntries(parts.filter(([, value]) => value !== undefined)) }
}

/** Replaces fields of a body. A name with a dot is the field of an object in the body. */
function replaceAt(body: Fields, changes: object): Fields {
  const replaced: { [name: string]: unknown } = { ...body }
  for (const [path, value] of Object.entries(changes)) {
    const [name = '', inner] = path.split('.')
    replaced[name] = inner === undefined ? value : { ...(replaced[name] as object), [inner]: value }
  }
  return replaced
}

/** Creates all rows of an endpoint. */
export function rowsOf(spec: EndpointRows): readonly Row[] {
  const tools = createTools(spec)
  const open = createTools(spec, true)
  return [
    answerRow(spec, tools),
    ...credentialRows(spec, tools),
    ...bodyRows(spec, tools, open),
    ...spec.rows(tools, open),
    ...unusualRows(spec, tools),
  ]
}

/** The specification lists no errors of the import. */
export const REFUSED_IMPORT = ['400', '404', '409', '413', '415', '422']

/** The specification leaves the columns of a purchase file open. */
const REFUSED_FILE = ['400', '422']

function answerRow({ number }: EndpointRows, { row }: Tools): Row {
  const title = 'answers a valid request with 200 and exactly the specified fields'
  const statuses = number === 7 ? ['200', ...REFUSED_FILE] : ['200']
  return row(title, ': 200 response body', { statuses, judge: expectFields })
}

/** Expects an answer with status 200 to have exactly the fields of the specification. */
export function expectFields(answer: Answer): void {
  const { endpoint, status, body, text, request } = answer
  if (status !== 200) return
  expect(body !== undefined, 'a JSON body', answer)
  const mistakes = mistakesOf(body, endpointOf(endpoint).answer)
  if (mistakes.length === 0) return
  throw new Mismatch('exactly the specified fields', `${mistakes.join('; ')}: ${text}`, request)
}

function credentialRows({ number, request }: EndpointRows, { row }: Tools): Row[] {
  const { name, refusal } = CREDENTIALS[endpointOf(number).credential]
  const clause = refusal === '401' ? 'Authentication: rule 4' : ': header, errors'
  const refuses = (what: string, replace: (world: World) => Promise<Credential | null>) =>
    row(`refuses ${what} with ${refusal}`, clause, {
      statuses: [refusal],
      fields: [],
      call: async (world) => ({ ...(await request(world)), credential: await replace(world) }),
    })
  const unknown = { value: 'unknown-credential', shown: 'unknown-credential' }
  const rows = [
    refuses(`a request without ${name}`, async () => null),
    refuses(`an unknown ${name}`, async () => unknown),
  ]
  if (name !== 'token') return rows
  const refusesToken = (what: string, change: (token: string) => string, shown: string) =>
    refuses(`a token ${what}`, async ({ token }) => ({ value: change(await token()), shown }))
  return [
    ...rows,
    refusesToken('with another signature', changeSignature, '$TOKEN_CHANGED'),
    refusesToken('without signature', removeSignature, '$TOKEN_UNSIGNED'),
  ]
}

/**
 * Changes the first character of a token's signature. The last character may have unused bits, so
 * changing that one could have no effect.
 */
function changeSignature(token: string): string {
  const at = token.lastIndexOf('.') + 1
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
}

/** Returns a token with the same claims and the algorithm `none` (RFC 7519 section 6). */
function removeSignature(token: string): string {
  const [header = '', claims = ''] = token.split('.')
  const decoded = decodePart(header)
  const unsigned = { ...(isObject(decoded) ? decoded : {}), alg: 'none' }
  return `${Buffer.from(JSON.stringify(unsigned)).toString('base64url')}.${claims}.`
}

function bodyRows({ number, kept = [] }: EndpointRows, tools: Tools, open: Tools): Row[] {
  const { row, refuses } = tools
  const { bodyType, fields, required } = endpointOf(number)
  const isForm = bodyType === 'multipart/form-data'
  const missing = required.map((name) => ({
    ...refuses(`a request without ${name}`, ': required fields', { [name]: undefined }),
    ...(isForm && { statuses: REFUSED_IMPORT }),
  }))
  if (bodyType !== 'application/json') return missing
  const optional = Object.keys(fields).filter((name) => ![...required, ...kept].includes(name))
  const refusesText = (what: string, text: string) => ({
    ...refuses(what, 'Errors: 400', {}),
    fields: [],
    call: async () => ({ text }),
  })
  return [
    row('accepts a request without its optional fields', ': request body', {
      changes: Object.fromEntries(optional.map((name) => [name, undefined])),
      judge: expectFields,
    }),
    open.accepts(
      'null for its optional fields',
      ': request body',
      Object.fromEntries(optional.map((name) => [name, null])),
    ),
    row('returns the values that were sent', ': 200 response body', {
      judge: (answer, _, { json }) => expectValues(answer, json as object),
    }),
    ...missing,
    ...fieldRows(fields, tools),
    refusesText('a body that is not JSON', '{"name":'),
    refusesText('a JSON body that is not an object', '[]'),
  ]
}

/** A value of the wrong type for every field of a request. */
const WRONG_TYPE = 5

/**
 * The rows about the types and the listed values of fields. The specification does not say whether
 * the keys of a free-form object are checked, and which of its two lists of platforms counts.
 */
function fieldRows(fields: Endpoint['fields'], tools: Tools, path = ''): Row[] {
  const { accepts, refuses } = tools
  return Object.entries(fields).flatMap(([field, { enum: listed, properties = {} }]) => {
    const name = path + field
    const isOpen = /^(store_)?config\./.test(name)
    const isOpenList = name === 'platform' || name === 'store_type'
    const accepted = isOpenList ? [] : (listed ?? [])
    const unlisted = refuses(`an unlisted ${name}`, ': request body', { [name]: UNLISTED })
    return [
      { ...refuses(`a number as ${name}`, ': request body', { [name]: WRONG_TYPE }), isOpen },
      ...accepted.map((value) =>
        accepts(`${value} as ${name}`, ': request body', { [name]: value }),
      ),
      ...(listed ? [{ ...unlisted, isOpen: name === 'platform' }] : []),
      ...fieldRows(properties, tools, `${name}.`),
    ]
  })
}

const UNLISTED = 'toaster'

const UNUSUAL = {
  'U+0000': 'a\u0000b',
  'a lone surrogate': 'a\ud800b',
  '10,000 characters': `'"<%00${'x'.repeat(10_000)}`,
}

/** All statuses that are no internal error. */
const NO_DEFECT = ['2XX', '3XX', '4XX']

function unusualRows({ unusual }: EndpointRows, { row }: Tools): Row[] {
  if (!unusual) return []
  return Object.entries(UNUSUAL).map(([what, text]) =>
    row(`answers a text with ${what} without an internal error`, 'Errors: 500', {
      changes: unusual(text),
      statuses: NO_DEFECT,
    }),
  )
}
