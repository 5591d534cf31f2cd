import { type CallOptions, type KeyedAccount, type Till, TillError } from '../../lib/index.ts'
import { noBody, optionalJson } from '../body.ts'
import type { Answer, Call } from '../call.ts'
import { accountKey, type Credential } from '../credentials.ts'
import type { RouteDescription } from '../openapi/description.ts'
import { fieldsOf } from '../openapi/schemas.ts'
import { type AnyRoute, route } from '../routes.ts'
import { waitForTurn } from '../scheduler.ts'
import type { ServerContext } from '../server-context.ts'

/** The input of a route of the management API: the caller and the parsed request. */
export interface ManageCall {
  readonly till: Till
  readonly caller: KeyedAccount
  readonly params: { readonly [name: string]: string }
  /**
   * The path parameters, and the documented fields of the query or body. The type is `never`, which
   * every method accepts as its input. The library validates the fields.
   */
  readonly input: never
  readonly options: CallOptions
  readonly context: ServerContext
}

type Run = (call: ManageCall) => Promise<object>

interface Description extends RouteDescription {
  /** Selects the concurrency limit of the route; by default that of its HTTP method. */
  readonly kind?: AnyRoute['kind']
}

/** The base path of the management API. */
const BASE = '/manage/v1'

/**
 * An account key. Unlike `accountKey`, refuses an account that the embedding application has
 * authenticated: the application may use cookies, which browsers also send for other sites.
 */
export const keyOnly: Credential<KeyedAccount> = {
  ...(accountKey as Credential<KeyedAccount>),
  verify: (till, { account_key }) => till.accounts.authenticate(account_key ?? undefined),
}

/** Creates a route of the management API that answers with the result of `run`. */
export function row(
  line: `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`,
  run: Run,
  description: Description,
): AnyRoute {
  return streamRow(line, async (call) => ({ body: await run(call) }), description)
}

type Method = (caller: KeyedAccount, input: never, options: CallOptions) => Promise<object>

type Noun = 'accounts' | 'projects' | 'stores' | 'items' | 'purchases' | 'imports' | 'webhooks'

/** Returns a handler that calls a method of the library and answers with its result. */
export function run<N extends Noun>(noun: N, method: keyof Till[N] & string): Run {
  return ({ till, caller, input, options }) => {
    const call = till[noun][method as keyof Till[Noun]] as Method
    return call(caller, input, options)
  }
}

/** Creates a route of the management API. `run` returns the whole answer, with its headers. */
export function streamRow(
  line: string,
  run: (call: ManageCall) => Promise<Answer>,
  { kind, ...description }: Description,
): AnyRoute {
  const [method = '', path = ''] = line.split(' ')
  const isRead = method === 'GET'
  const { query, body: bodyName, errors = [] } = description
  const schema = query ?? bodyName
  const handler = async (call: AnyCall) => {
    const { till, caller, params, query, body, options, context } = call
    const decoded = decodedParams(params)
    const fields = schema ? fieldsOf(schema) : {}
    // The library's name for `item_id` is `id`.
    const { item_id: id, ...others } = decoded
    const path = id === undefined ? others : { ...others, id }
    const picked = isRead ? pickFields(query, fields, convert) : pickFields(body, fields)
    const input = { ...picked, ...path } as never
    if (picked.limit > LARGE_PAGE) await waitForTurn(caller.account_id)
    return run({ till, caller, params: decoded, input, options, context })
  }
  const described = { ...description, errors: isRead ? [...errors, INVALID] : errors }
  const readBody = isRead ? noBody : optionalJson
  return route(method, BASE + path, keyOnly, readBody as never, handler, described, kind)
}

const INVALID = 'invalid_request' as const

/** Requests for larger pages wait for a turn of the event loop: 1,000 records take 10 to 80 ms. */
const LARGE_PAGE = 100

type AnyCall = Call<KeyedAccount, { readonly [field: string]: unknown }>

/** The path parameters. Throws for one with malformed percent-encoding. */
export function decodedParams(params: AnyCall['params']): ManageCall['params'] {
  const bad = Object.keys(params).find((name) => params[name] === undefined)
  if (bad === undefined) return params as ManageCall['params']
  throw new TillError(INVALID, `The ${bad} in the path is not valid percent-encoding`)
}

/** Picks the documented fields. The API ignores others, but the library rejects them. */
function pickFields(
  given: { readonly [field: string]: unknown },
  fields: ReturnType<typeof fieldsOf>,
  converted = (value: unknown, _type: unknown) => value,
) {
  const entries = Object.entries(fields).flatMap(([name, { type }]) => {
    const value = given[name]
    return value === undefined ? [] : [[name, converted(value, type)]]
  })
  return Object.fromEntries(entries)
}

/** Converts the text of a query parameter to the array or boolean that the library expects. */
function convert(value: unknown, type: unknown): unknown {
  if (type === 'array') return String(value).split(',')
  return type === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value
}
