import { type Operation, operations } from '../lib/operations.ts'
import { bodyOf } from './errors.ts'
import type { Methods } from './manage-methods.ts'
import type {
  Explanation,
  FileToExplain,
  ImportFile,
  ImportResult,
  ReconcileFile,
  Reconciliation,
} from './manage-types.ts'
import { type Answer, JSON_TYPE, withQuery } from './message.ts'
import {
  assertOptions,
  type CallOptions,
  type ChangeOptions,
  type CreateOptions,
  callRules,
  changeRules,
  createRules,
  type ManageOptions,
  parseManageOptions,
} from './options.ts'
import { randomHex } from './random.ts'
import { createSender, LONG_TIMEOUT, type Request } from './retry.ts'
import { createForm, createUpload } from './upload.ts'

export { type ErrorDetail, TillError } from './errors.ts'
export type * from './manage-types.ts'
export type { CallOptions, ChangeOptions, CreateOptions, ManageOptions } from './options.ts'
export type { Progress } from './types.ts'

/** A client of the management API. Every call rejects with a TillError when it fails. */
export type ManageClient = ReturnType<typeof createManageClient>

/** The methods of the client. Each also takes options, and returns a promise. */
type Calls = {
  readonly [N in keyof Methods]: {
    readonly [V in keyof Methods[N]]: Call<Methods[N][V], `${N}.${V & string}`>
  }
}

type Call<Method, Name> = Method extends (...input: infer Input) => infer Result
  ? (...given: [...Input, options?: OptionsOf<Name>]) => Promise<Result>
  : never

type JsonOperation = Exclude<(typeof operations)[number], { readonly isUpload: true }>
type OptionsOf<Name> =
  Extract<JsonOperation, { readonly name: Name }> extends { readonly repeat: 'with key' }
    ? CreateOptions
    : Extract<JsonOperation, { readonly name: Name }> extends { readonly etag: 'matched' }
      ? ChangeOptions
      : CallOptions
type MethodName = { [N in keyof Methods]: `${N}.${keyof Methods[N] & string}` }[keyof Methods]

/**
 * Creates a client of the management API of a server that runs with `--manage`. Throws a TypeError
 * for a missing, wrong or unknown option.
 *
 * @example
 * const manage = createManageClient({ url: 'https://shop.example', accountKey: 'ak_…' })
 * const { items } = await manage.items.list({ store_id: 'main', search: 'sword' })
 */
export function createManageClient(options: ManageOptions) {
  const settings = parseManageOptions(options)
  const sendRequest = createSender(settings, '/manage/v1')

  const send = (request: Request, options: CallOptions) => {
    const headers = { ...request.headers, 'x-account-key': settings.accountKey }
    return sendRequest({ ...request, headers }, options)
  }

  /** Sends a file as a form. Leaves out the parts that are undefined. */
  const upload = async <T>(
    http: string,
    { store_id, priceUnit, map, ...file }: ImportFile,
    options: CallOptions,
    parts: { readonly [name: string]: string | number | undefined } = {},
  ): Promise<T> => {
    assertOptions(options, callRules)
    const { path } = fill(http, store_id)
    const all = { ...parts, price_unit: priceUnit, map: map && JSON.stringify(map) }
    const given = Object.entries(all).flatMap(([name, value]) => {
      return value === undefined ? [] : [[name, String(value)]]
    })
    const request = createUpload(path, file, Object.fromEntries(given))
    const { timeout = LONG_TIMEOUT } = options
    return bodyOf<T>(await send(request, { ...options, timeout }))
  }

  const calls = createCalls(send)
  return {
    ...calls,
    account: calls.account.get,
    purchases: {
      ...calls.purchases,
      /** Proposes a layout for a file. Imports and stores nothing. */
      explain: async ({ store_id, ...file }: FileToExplain, options: CallOptions = {}) => {
        assertOptions(options, callRules)
        const { path } = fill('POST /stores/:store_id/explanations', store_id)
        const { timeout = LONG_TIMEOUT } = options
        const answer = await send(createForm(path, {}, file), { ...options, timeout })
        return bodyOf<Explanation>(answer)
      },
      /**
       * Compares the stored purchases with a vendor's file. Changes nothing unless `cancel_missing` is
       * the number of purchases that the file lacks: then cancels them.
       */
      reconcile: (
        { from, to, cancel_missing, ...file }: ReconcileFile,
        options: CallOptions = {},
      ): Promise<Reconciliation> => {
        const parts = { from, to, cancel_missing }
        return upload('POST /stores/:store_id/reconciliations', file, options, parts)
      },
    },
    imports: {
      ...calls.imports,
      /** Imports a file. Rejects with `invalid_purchases` and up to 1,000 mistakes of the file. */
      create: (input: ImportFile, options: CallOptions = {}): Promise<ImportResult> =>
        upload('POST /stores/:store_id/imports', input, options),
    },
  }
}

type SendRequest = (request: Request, options: CallOptions) => Promise<Answer>
type Fields = { readonly [field: string]: unknown }

/** Creates the methods from the operations. */
function createCalls(send: SendRequest): Calls {
  const calls: { [noun: string]: { [verb: string]: unknown } } = {}
  // The compiler finds an operation without a method, and a method without an operation.
  const add = (name: MethodName, operation: Operation) => {
    const [noun = '', verb = ''] = name.split('.')
    calls[noun] = { ...calls[noun], [verb]: createCall(operation, send) }
  }
  for (const each of operations) if (!('isUpload' in each)) add(each.name, each)
  return calls as unknown as Calls
}

/** The tag without the mark of a proxy that compresses answers (RFC 9110 section 8.8.1). */
function strongTag(tag: string | null): string | undefined {
  return tag?.replace(/^W\//, '')
}

function createCall({ query, body, etag, isLong, repeat, http }: Operation, send: SendRequest) {
  const count = query || body || http.includes(':') ? 1 : 0
  const takesKey = repeat === 'with key'
  const rules = etag === 'matched' ? changeRules : takesKey ? createRules : callRules
  const answerOf = (answer: Answer) =>
    etag ? { ...bodyOf<object>(answer), etag: strongTag(answer.header('etag')) } : bodyOf(answer)
  return (...given: readonly unknown[]) => {
    const [input = {}] = given.slice(0, count) as readonly Fields[]
    const [options = {}] = given.slice(count) as readonly (CreateOptions & ChangeOptions)[]
    assertOptions(options, rules)
    const { idempotencyKey = randomHex(), ifMatch, ...others } = options
    const rest = isLong ? { ...others, timeout: others.timeout ?? LONG_TIMEOUT } : others
    const { method, path, fields } = fill(http, input)
    if (method === 'GET') {
      const url = withQuery(path, fields)
      return send({ method, path: url, headers: {}, repeat: 'always' }, rest).then(answerOf)
    }
    const headers = {
      ...JSON_TYPE,
      ...(takesKey && { 'idempotency-key': idempotencyKey }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    }
    const text = JSON.stringify(fields)
    // Without `repeat`, only what the server refused: an answer may be lost after the change.
    const request = { method, path, headers, body: text, repeat: repeat ? 'always' : 'refused' }
    return send(request as Request, rest).then(answerOf)
  }
}

/**
 * Fills the path parameters from an id or the fields of an input, percent-encoded. Returns the other
 * fields too. Throws a TypeError for `.` and `..`: a URL cannot have them as a part of its path,
 * even encoded.
 */
function fill(http: string, input: Fields | string) {
  const fields: { [field: string]: unknown } = typeof input === 'string' ? {} : { ...input }
  const [method = '', template = ''] = http.split(' ')
  const path = template.replaceAll(/:(\w+)/g, (_, name) => {
    const value = typeof input === 'string' ? input : String(fields[name])
    if (/^\.\.?$/.test(value)) {
      throw new TypeError(`The id ${value} cannot be part of a URL: use the CLI`)
    }
    delete fields[name]
    return encodeURIComponent(value)
  })
  return { method, path, fields }
}
