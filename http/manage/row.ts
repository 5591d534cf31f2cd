import { type CallOptions, type KeyedAccount, type Till, TillError } from '../../lib/index.ts'
import { noBody, optionalJson } from '../body.ts'
import type { Answer, Call } from '../call.ts'
import type { RequestKind } from '../concurrency.ts'
import { accountKey, type Credential } from '../credentials.ts'
import type { RouteDescription } from '../openapi/description.ts'
import { createAllSchemas, type SchemaName } from '../openapi/schemas.ts'
import { type AnyRoute, route } from '../routes.ts'
import type { ServerContext } from '../server-context.ts'

/** A request of the management API, in the library's terms. */
export interface ManageCall {
  readonly till: Till
  readonly caller: KeyedAccount
  readonly params: { readonly [name: string]: string }
  /**
   * The path parameters, and the documented fields of the query or body. The library validates
   * them, so any of its inputs may be this object.
   */
  readonly input: never
  readonly options: CallOptions
  readonly context: ServerContext
}

type Run = (call: ManageCall) => Promise<object>

/** The base path of the management API. */
const BASE = '/manage/v1'

/**
 * An account key. Unlike the other routes for accounts, these do not accept an account that the
 * host has authenticated: it may use cookies, which browsers also send for other sites.
 */
export const keyOnly: Credential<KeyedAccount> = {
  ...(accountKey as Credential<KeyedAccount>),
  verify: (till, { account_key }) => till.accounts.authenticate(account_key ?? undefined),
}

/** Creates a route of the management API that answers with the result of `run`. */
export function row(
  line: `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`,
  run: Run,
  description: RouteDescription,
  kind?: RequestKind,
): AnyRoute {
  return streamRow(line, async (call) => ({ body: await run(call) }), description, kind)
}

/** Like `row`, for an answer that needs its own headers. */
export function streamRow(
  line: string,
  run: (call: ManageCall) => Promise<Answer>,
  description: RouteDescription,
  kind?: RequestKind,
): AnyRoute {
  const [method = '', path = ''] = line.split(' ')
  const isRead = method === 'GET'
  const { query, body: bodyName, errors = [] } = description
  const schema = query ?? bodyName
  let fields: readonly Field[] | undefined
  const handler = ({ till, caller, params, query, body, options, context }: AnyCall) => {
    const decoded = decodedParams(params)
    fields ??= schema ? fieldsOf(schema) : []
    const input = { ...decoded, ...pickFields(isRead ? query : body, fields) } as never
    return run({ till, caller, params: decoded, input, options, context })
  }
  const described = { ...description, errors: isRead ? [...errors, INVALID] : errors }
  const readBody = isRead ? noBody : optionalJson
  return route(method, BASE + path, keyOnly, readBody as never, handler, described, kind)
}

const INVALID = 'invalid_request' as const

type AnyCall = Call<KeyedAccount, { readonly [field: string]: unknown }>

/** The path parameters. Throws for one with malformed percent-encoding. */
export function decodedParams(params: AnyCall['params']): ManageCall['params'] {
  const bad = Object.keys(params).find((name) => params[name] === undefined)
  if (bad === undefined) return params as ManageCall['params']
  throw new TillError(INVALID, `The ${bad} in the path is not valid percent-encoding`)
}

interface Field {
  readonly name: string
  readonly type: unknown
}

function fieldsOf(name: SchemaName): readonly Field[] {
  // A store has the same fields whatever its type.
  const { properties } = createAllSchemas()[name === 'NewStore' ? 'NewWebStore' : name] as {
    readonly properties: { readonly [field: string]: { readonly type?: unknown } }
  }
  return Object.entries(properties).map(([name, { type }]) => ({ name, type }))
}

/** Picks the documented fields. Of a query, converts texts where the library takes no text. */
function pickFields(given: { readonly [field: string]: unknown }, fields: readonly Field[]) {
  const entries = fields.flatMap(({ name, type }) => {
    const value = given[name]
    return value === undefined ? [] : [[name, convert(value, type)]]
  })
  return Object.fromEntries(entries)
}

function convert(value: unknown, type: unknown): unknown {
  if (typeof value !== 'string') return value
  if (type === 'boolean') return { true: true, false: false }[value] ?? value
  return type === 'array' ? value.split(',') : value
}
