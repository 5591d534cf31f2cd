import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { assertDocumented } from '../openapi/answers.ts'
import { mistakesOf, type Operation, operations } from '../openapi/document.ts'
import { fc } from '../seeds.ts'
import { assertProblem, type ProblemBody, type Reply, startServer } from '../server.ts'
import type { Target } from '../targets.ts'
import { bytesOf, createRequests, type FuzzRequest, headOf } from './requests.ts'
import { createWorld, type World } from './world.ts'

export interface Fuzzing {
  readonly target: Target
  readonly seed: number
  /** The number of requests. After each one, a request with a known response follows. */
  readonly requests: number
  /** No request is sent after this time. */
  readonly milliseconds?: number
}

/** Sends requests to a real server. Throws with the smallest request that got a wrong response. */
export async function fuzzServer(
  t: TestContext,
  { target, seed, requests: numRuns, milliseconds = Number.POSITIVE_INFINITY }: Fuzzing,
): Promise<void> {
  const storage = await target.open(t)
  const { till, log, send, connect } = await startServer(t, { storage, options: { manage: true } })
  const world = await createWorld(till)
  const { known } = world
  const before = await send(known.line, known.parts)
  assert.equal(before.status, 200)
  const until = Date.now() + milliseconds
  const property = fc.asyncProperty(await createRequests(send, world), async (request) => {
    if (Date.now() > until) return
    log.length = 0
    const { socket, reply, ended } = await connect(bytesOf(request))
    const isHead = request.method === 'HEAD'
    const answer = await reply({ head: isHead })
    // Without the date, the answer is that of Node, which did not read the method.
    if (!isHead || answer.headers.has('date')) assert.equal(await ended, '', 'more than an answer')
    socket.destroy()
    assertAnswer(request, answer, world)
    const after = await send(known.line, known.parts)
    assert.equal(after.text, before.text, 'the known request gets a different response')
    const errors = log.flatMap(({ error = [] }) => error)
    assert.deepEqual(errors, [], 'the server logged an error')
  })
  await fc.assert(property, { seed, numRuns, includeErrorInReport: true })
}

/** Asserts the rules for every response, and the outcome that this request allows. */
function assertAnswer(request: FuzzRequest, reply: Reply, { secrets, foreign }: World): void {
  const { operation, method, headers, allowed } = request
  const { status, text } = reply
  assert.ok(status < 500, text)
  const isLarge = headOf(request).length > 14_000 && [400, 431].includes(status)
  if (allowed) assert.ok(isLarge || allowed.includes(status), `${status} is not ${allowed}`)
  assertRequestId(headers, reply)
  const said = `${[...reply.headers].join('\n')}\n${text}`
  const isForeign = headers.some(([, value]) => foreign.keys.some((key) => value.includes(key)))
  const forbidden = isForeign ? secrets : [...secrets, ...foreign.facts]
  assert.deepEqual(
    forbidden.filter((secret) => said.includes(secret)),
    [],
    text,
  )
  if (method === 'HEAD') return
  if (status >= 400) assertProblem(reply, status, reply.json<ProblemBody>().code)
  const documented = operations.find(({ id }) => id === operation)
  if (!documented) return
  assertDocumented(documented, reply)
  assertAgreement(documented, request, reply)
}

function assertRequestId(headers: FuzzRequest['headers'], answer: Reply): void {
  const [sent, ...others] = headers.filter(([name]) => name.toLowerCase() === 'x-request-id')
  const own = sent && others.length === 0 ? sent[1].trim() : ''
  const answered = answer.headers.get('x-request-id') ?? ''
  assert.match(answered, /^[\w-]{1,64}$/)
  if (answer.headers.has('date') && /^[\w-]{1,64}$/.test(own)) assert.equal(answered, own)
}

/** Their rules also depend on stored records, or on several fields together. */
const LOOSE = ['changeStore', 'planCatalog', 'applyCatalog', 'recordPurchase', 'replayWebhook']
/** A schema cannot express all limits of a free form, the largest price and whole characters. */
const LIMITED = ['meta', 'metadata', 'config', 'store_config', 'price']

/** The document and the server accept and refuse the same bodies. */
function assertAgreement({ id, body: documented }: Operation, { body }: FuzzRequest, reply: Reply) {
  if (documented?.type !== 'application/json' || LOOSE.includes(id)) return
  const isOmitted = body === '' && !documented.isRequired
  const value = isOmitted ? {} : parse(Buffer.from(body, 'latin1').toString())
  const mistakes = mistakesOf(documented.schema, withoutNulls(value))
  if (reply.status === 200) assert.equal(mistakes, undefined, 'the document forbids what got 200')
  const isHalf = /\\ud[89a-f]/i.test(body)
  if (reply.status !== 400 || mistakes !== undefined || isHalf) return
  const { errors = [] } = reply.json<ProblemBody>()
  const refused = errors.filter(
    ({ field = '', code }) =>
      ['required', 'invalid', 'unsupported'].includes(code) &&
      field !== 'Idempotency-Key' &&
      !LIMITED.includes(field.split(/[.[]/)[0] ?? ''),
  )
  assert.deepEqual(refused, [], 'the document allows what is refused')
}

/** Without the fields that are null, which count as absent, also inside of `levels` fields. */
function withoutNulls(value: unknown, levels = 2): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  if (levels < 0) return value
  const fields = Object.entries(value).filter(([, each]) => each !== null)
  return Object.fromEntries(fields.map(([name, each]) => [name, withoutNulls(each, levels - 1)]))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
