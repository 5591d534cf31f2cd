import assert from 'node:assert/strict'
import { assertProblem as assertProblemOf, type ProblemBody } from '../support/server.ts'
import { type Answer, headOf } from './exchange.ts'
import type { EndpointName, FuzzRequest } from './requests.ts'
import type { World } from './world.ts'

type Shape =
  | 'string'
  | 'integer'
  | 'boolean'
  | 'object'
  | 'instant'
  | 'jwt'
  | readonly [Shape]
  | { readonly [field: string]: Shape }

const ITEM: Shape = {
  id: 'string',
  name: 'string',
  display_name: 'string',
  description: 'string',
  price: 'integer',
  type: 'string',
  store_id: 'string',
  metadata: 'object',
}
const PROJECT: Shape = {
  id: 'string',
  account_id: 'string',
  name: 'string',
  bundle_id: 'string',
  platform: 'string',
  status: 'string',
  config: 'object',
}
const SESSION: Shape = { token: 'jwt', expires_at: 'instant', expires_in_seconds: 'integer' }
const OK: Shape = { status: 'string' }

/** The fields of each endpoint's 200 response (specification, "Endpoints"). No others may occur. */
const SHAPES: { readonly [E in EndpointName]?: Shape } = {
  accessToken: { access_token: 'jwt', ttl_seconds: 'integer' },
  init: {
    project: {
      id: 'string',
      name: 'string',
      bundle_id: 'string',
      platform: 'string',
      status: 'string',
      dlscheme: 'string',
    },
    session: SESSION,
    stores: [{ id: 'string', store_type: 'string', is_sandbox: 'boolean', status: 'string' }],
  },
  token: SESSION,
  createItem: { id: 'string', name: 'string', display_name: 'string', description: 'string' },
  listItems: { items: [ITEM] },
  getItem: ITEM,
  importPurchases: { ok: 'boolean' },
  createProject: PROJECT,
  updateProject: { ...PROJECT, public_key: 'string' },
  createStore: {
    store_id: 'string',
    project_id: 'string',
    store_type: 'string',
    is_sandbox: 'boolean',
    status: 'string',
    store_config: 'object',
  },
  healthz: OK,
  readyz: OK,
}

/** Asserts the rules for every response, and the outcome that this request allows. */
export function assertAnswer(request: FuzzRequest, answer: Answer, world: World): void {
  const text = answer.body.toString()
  assert.ok(Buffer.from(text).equals(answer.body), 'the body is not UTF-8')
  assertStatus(request, answer, text)
  assertRequestId(request, answer)
  assertLength(request, answer)
  assertSilent(request, answer, text, world)
  if (request.method === 'HEAD') return
  if (answer.status === 200) assertResult(request, answer, text)
  else if (answer.status >= 400) assertProblem(answer, text)
}

function assertStatus(request: FuzzRequest, { status }: Answer, text: string): void {
  const isLarge = headOf(request).length > 14_000
  const allowed = isLarge ? [...request.allowed, 400, 431] : request.allowed
  if (allowed.includes(status)) return
  // The server refuses a document that nests too deeply, even inside an ignored field.
  if (status === 400 && nestsTooDeep(request)) return
  // The store may already have the file's transactions with other values.
  if (request.endpoint === 'importPurchases' && isConflict(text)) return
  assert.fail(`${status} instead of one of ${allowed}: ${text.slice(0, 500)}`)
}

/** Whether the JSON body opens more than 60 levels in a row. */
function nestsTooDeep({ body }: FuzzRequest): boolean {
  return /(\[|\{"a":){61}/.test(body)
}

function isConflict(text: string): boolean {
  const { errors = [] } = JSON.parse(text) as ProblemBody
  return errors.length > 0 && errors.every(({ code }) => code === 'transaction_conflict')
}

function assertRequestId({ headers }: FuzzRequest, answer: Answer): void {
  const sent = headers.filter(([name]) => name.toLowerCase() === 'x-request-id')
  const own = sent.length === 1 ? (sent[0]?.[1].trim() ?? '') : ''
  const answered = answer.headers.get('x-request-id') ?? ''
  assert.match(answered, /^[\w-]{1,64}$/)
  if (isRead(answer) && /^[\w-]{1,64}$/.test(own)) assert.equal(answered, own)
}

// The server refuses a malformed request before it knows the method and headers. Only Node's own
// error responses, for such requests, have no Date header.
function isRead({ headers }: Answer): boolean {
  return headers.has('date')
}

function assertLength({ method }: FuzzRequest, answer: Answer): void {
  const { status, headers, body } = answer
  const isBodiless = (method === 'HEAD' && isRead(answer)) || status === 204 || status === 304
  const stated = isBodiless ? '0' : headers.get('content-length')
  assert.equal(String(body.length), stated)
}

/** A request's own secret may appear only in the response to it. Other secrets may never appear. */
function assertSilent(
  { body, endpoint, headers }: FuzzRequest,
  answer: Answer,
  text: string,
  { secrets, foreign }: World,
): void {
  const said = `${[...answer.headers.values()].join('\n')}\n${text}`
  const isEcho = answer.status === 200 && /^(create(Project|Store)|updateProject)$/.test(endpoint)
  for (const [canary] of said.matchAll(/canary-\d+/g)) {
    assert.ok(
      isEcho && body.includes(canary),
      `the response contains the secret ${canary}: ${text}`,
    )
  }
  const isForeign = headers.some(([, value]) => foreign.keys.some((key) => value.includes(key)))
  const forbidden = isForeign ? secrets : [...secrets, ...foreign.facts]
  const leaked = forbidden.filter((secret) => said.includes(secret))
  assert.deepEqual(leaked, [], text)
}

function assertProblem({ status, headers }: Answer, text: string): void {
  const json = () => JSON.parse(text)
  const reply = { status, headers: new Headers([...headers]), text, json }
  assertProblemOf(reply, status, json().code)
}

function assertResult({ endpoint }: FuzzRequest, { headers }: Answer, text: string): void {
  assert.equal(headers.get('content-type'), 'application/json')
  assertShape(JSON.parse(text), SHAPES[endpoint] ?? assert.fail(`200 from ${endpoint}`), 'body')
}

const KINDS: { readonly [kind: string]: (value: unknown) => boolean } = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  instant: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(String(value)),
  jwt: (value) => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(String(value)),
}

function assertShape(value: unknown, shape: Shape, place: string): void {
  if (typeof shape === 'string') {
    assert.ok(KINDS[shape]?.(value), `${place} is not of type ${shape}: ${JSON.stringify(value)}`)
  } else if (isList(shape)) {
    assert.ok(Array.isArray(value), `${place} is not an array`)
    for (const [index, entry] of value.entries()) assertShape(entry, shape[0], `${place}[${index}]`)
  } else {
    assert.ok(isObject(value), `${place} is not an object`)
    assert.deepEqual(Object.keys(value).sort(), Object.keys(shape).sort(), place)
    for (const [field, each] of Object.entries(shape)) {
      assertShape(value[field], each, `${place}.${field}`)
    }
  }
}

function isList(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape)
}

function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
