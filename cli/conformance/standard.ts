import type { Call } from './call.ts'
import {
  applyTo,
  type Check,
  createTools,
  type Endpoint,
  type EndpointSpec,
  expect,
  expectStatus,
  type Tools,
} from './checks.ts'
import type { Answer } from './client.ts'
import { Mismatch } from './outcomes.ts'
import { CREDENTIALS, ROUTES } from './routes.ts'
import { decodePart, isObject } from './shape.ts'
import type { World } from './world.ts'

/** Creates the checks of an endpoint from its description. */
export function endpoint(spec: EndpointSpec): Endpoint {
  const tools = createTools(spec)
  const checks = [
    answerCheck(spec, tools),
    ...credentialChecks(spec, tools),
    ...bodyChecks(spec, tools),
    ...(spec.checks?.(tools) ?? []),
    ...(spec.open?.(tools) ?? []).map((check) => ({ ...check, isOpen: true })),
    ...unusualChecks(spec, tools),
  ]
  return { number: spec.number, checks }
}

/**
 * The statuses with which a server may refuse the file of an import. The specification leaves the
 * columns open, and the file has those of tillkit.
 */
const FILE_REFUSALS = [400, 422]

function answerCheck(spec: EndpointSpec, { check }: Tools): Check {
  const { number, answer, request, optional = [] } = spec
  const withoutOptional = async (world: World) => applyTo(await request(world), removed(optional))
  const expectFields = (reply: Answer) => {
    expect(reply.body !== undefined, 'a JSON body', reply)
    const mistakes = answer(reply.body, 'the body')
    const got = `${mistakes.join('; ')}: ${reply.text}`
    if (mistakes.length > 0) throw new Mismatch('exactly the specified fields', got, reply.request)
  }
  const title = 'answers a valid request with 200 and exactly the specified fields'
  return check(title, ': 200 response body', async (world) => {
    const reply = await world.call(number, await request(world))
    expectStatus(reply, number === 7 ? [200, ...FILE_REFUSALS] : [200])
    if (reply.status === 200) expectFields(reply)
    const shorter = await world.call(number, await (spec.minimal ?? withoutOptional)(world))
    if (shorter.status === 200) expectFields(shorter)
  })
}

function removed(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, undefined]))
}

function credentialChecks({ number, request }: EndpointSpec, { check }: Tools): Check[] {
  const kind = ROUTES[number].credential
  const { refusal } = CREDENTIALS[kind]
  const clause = refusal === 401 ? 'Authentication: rule 4' : ': header, errors'
  type Replace = (world: World) => Promise<NonNullable<Call['credential']> | null>
  const refuses = (what: string, replace: Replace) => {
    const run = async (world: World) => {
      const call = { ...(await request(world)), credential: await replace(world) }
      expectStatus(await world.call(number, call), [refusal])
    }
    return check(`refuses ${what} with ${refusal}`, clause, run, [refusal])
  }
  const changed = (change: (token: string) => string, shown: string): Replace => {
    return async ({ token }) => ({ value: change(await token()), shown })
  }
  const unknown = { value: 'unknown-credential', shown: 'unknown-credential' }
  const common = [
    refuses(`a request without ${kind}`, async () => null),
    refuses(`an unknown ${kind}`, async () => unknown),
  ]
  if (kind !== 'token') return common
  return [
    ...common,
    refuses('a token with another signature', changed(changeSignature, '$TOKEN_CHANGED')),
    refuses('a token without signature', changed(removeSignature, '$TOKEN_UNSIGNED')),
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

/** A value of the wrong type for every field of a request. */
const WRONG_TYPE = 5

function bodyChecks(spec: EndpointSpec, { check, accepts, refuses }: Tools): Check[] {
  const { number, required = [], optional = [] } = spec
  if (required.length === 0) return []
  const refusesText = (what: string, text: string) => {
    const run = async (world: World) => expectStatus(await world.call(number, { text }), [400])
    return check(`refuses ${what}`, 'Errors: 400', run, [400])
  }
  return [
    accepts('a request without its optional fields', ': request body', removed(optional)),
    ...required.map((name) =>
      refuses(`a request without ${name}`, ': required fields', removed([name])),
    ),
    ...[...required, ...optional].map((name) =>
      refuses(`a number as ${name}`, ': request body', { [name]: WRONG_TYPE }),
    ),
    refusesText('a body that is not JSON', '{"name":'),
    refusesText('a JSON body that is not an object', '[]'),
  ]
}

const UNUSUAL = ['a\u0000b', 'a\ud800b', `'"<%00${'x'.repeat(10_000)}`]

function unusualChecks({ number, unusual }: EndpointSpec, { check }: Tools): Check[] {
  if (!unusual) return []
  const run = async (world: World) => {
    for (const text of UNUSUAL) {
      const answer = await world.call(number, await unusual(text, world))
      expect(answer.status < 500, 'a status below 500', answer)
    }
  }
  const title = 'answers unusual text without an internal error'
  return [check(title, 'Errors: meaning of 500', run, [500])]
}
