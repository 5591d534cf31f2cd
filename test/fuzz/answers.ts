import assert from 'node:assert/strict'
import { mistakesOf, operations } from '../openapi/document.ts'
import { assertProblem as assertProblemOf } from '../support/server.ts'
import { type Answer, headOf } from './exchange.ts'
import type { FuzzRequest } from './requests.ts'
import type { World } from './world.ts'

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
  assert.ok(allowed.includes(status), `${status} instead of one of ${allowed}: ${text}`)
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

/** No stored secret may appear, and facts of the other account only for its credentials. */
function assertSilent(
  { headers }: FuzzRequest,
  answer: Answer,
  text: string,
  { secrets, foreign }: World,
): void {
  const said = `${[...answer.headers.values()].join('\n')}\n${text}`
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
  const operation = operations.find(({ id }) => id === endpoint)
  const media = operation?.responses.get('200')?.content?.['application/json']
  assert.ok(media, `200 from ${endpoint}`)
  assert.equal(mistakesOf(media.schema, JSON.parse(text)), undefined, text)
}
