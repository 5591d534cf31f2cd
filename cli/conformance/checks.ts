import type { Call } from './call.ts'
import type { Answer } from './client.ts'
import { Mismatch } from './outcomes.ts'
import type { EndpointNumber } from './routes.ts'
import { holds, isObject, type Shape, valueAt } from './shape.ts'
import type { World } from './world.ts'

/** One sentence of the specification, as a request and the expected answer. */
export interface Check {
  readonly title: string
  /** The part of the specification that contains the sentence. */
  readonly clause: string
  /** The error statuses that the check is about. */
  readonly statuses: readonly number[]
  /** Whether the specification allows other behaviour. A mismatch is then a note, not a failure. */
  readonly isOpen: boolean
  run(world: World): Promise<void>
}

type MakeCall = (world: World) => Promise<Call>

/** Describes an endpoint. Most of its checks are made from this description. */
export interface EndpointSpec {
  readonly number: EndpointNumber
  /** The expected shape of the body of an answer with status 200. */
  readonly answer: Shape
  /** Creates a valid request with all fields, for new records. */
  readonly request: MakeCall
  /**
   * Creates a request whose answer has default values. If missing, `request` without its optional
   * fields is used.
   */
  readonly minimal?: MakeCall
  readonly required?: readonly string[]
  readonly optional?: readonly string[]
  /** Creates a request with an unusual text in one of its fields. */
  readonly unusual?: (text: string, world: World) => Promise<Call>
  /** The checks that only this endpoint has. */
  readonly checks?: (tools: Tools) => readonly Check[]
  /** The checks of recommended behaviour, which the specification leaves open. */
  readonly open?: (tools: Tools) => readonly Check[]
}

export interface Endpoint {
  readonly number: EndpointNumber
  readonly checks: readonly Check[]
}

export function expectStatus({ status, text, request }: Answer, statuses: readonly number[]): void {
  if (statuses.includes(status)) return
  throw new Mismatch(`status ${statuses.join(' or ')}`, `${status} ${text}`, request)
}

/** Throws a Mismatch unless the condition is met. */
export function expect(isMet: boolean, expected: string, { status, text, request }: Answer): void {
  if (!isMet) throw new Mismatch(expected, `${status} ${text}`, request)
}

/** Expects any status of 2xx. Only one check of each endpoint expects exactly 200. */
export function expectSuccess(answer: Answer): void {
  expect(isSuccess(answer), 'status 200', answer)
}

function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status <= 299
}

/** Expects fields to have these values. Ignores missing ones: another check reports them. */
export function expectValues(answer: Answer, values: object): void {
  for (const [name, value] of Object.entries(values)) {
    const found = valueAt(answer.body, name)
    const isRight = found === undefined || holds(found, value)
    expect(isRight, `${name} to be ${JSON.stringify(value)}`, answer)
  }
}

/**
 * Changes to a valid request: new values for fields of its JSON body, or for parts of its form.
 * Without a body, they are new values for properties of the call, such as its headers. Undefined
 * removes a field.
 */
type Changes = object | ((world: World) => object | Promise<object>)

export type Tools = ReturnType<typeof createTools>

/** Creates the functions that make the checks of one endpoint. */
export function createTools({ number, request }: Pick<EndpointSpec, 'number' | 'request'>) {
  const send = async (world: World, changes: Changes) => {
    const call = await request(world)
    return world.call(number, applyTo(call, await resolve(changes, world)))
  }
  /**
   * Creates a check. A `clause` that begins with a colon, such as `: public_key`, is a part of the
   * specification's section about the endpoint.
   */
  const check = (
    title: string,
    clause: string,
    run: Check['run'],
    statuses: readonly number[] = [],
  ): Check => {
    const place = clause.startsWith(':') ? `Endpoint ${number}${clause}` : clause
    return { title, clause: place, statuses, isOpen: false, run }
  }
  return {
    check,
    /** Checks that a valid request with these changes succeeds. */
    accepts: (what: string, clause: string, changes: Changes) =>
      check(`accepts ${what}`, clause, async (world) => expectSuccess(await send(world, changes))),
    /** Checks that a valid request with these changes gets one of these error statuses. */
    refuses: (what: string, clause: string, changes: Changes, statuses = [400]) => {
      const run = async (world: World) => expectStatus(await send(world, changes), statuses)
      return check(`refuses ${what}`, clause, run, statuses)
    },
    /** Checks that the answer to a valid request with these changes has these values. */
    returns: (what: string, clause: string, changes: Changes, values = changes) => {
      const run = async (world: World) => {
        const changed = await resolve(changes, world)
        const expected = values === changes ? changed : await resolve(values, world)
        expectValues(await send(world, changed), expected)
      }
      return check(`returns ${what}`, clause, run)
    },
  }
}

async function resolve(changes: Changes, world: World): Promise<object> {
  return typeof changes === 'function' ? changes(world) : changes
}

export function applyTo(call: Call, changes: object): Call {
  if (isObject(call.json)) return { ...call, json: { ...call.json, ...changes } }
  if (!call.form) return { ...call, ...changes }
  const parts = Object.entries({ ...call.form, ...changes })
  return { ...call, form: Object.fromEntries(parts.filter(([, value]) => value !== undefined)) }
}
