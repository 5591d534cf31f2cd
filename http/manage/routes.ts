import {
  type CallOptions,
  etagOf,
  type KeyedAccount,
  type KeyScope,
  type Project,
  type Store,
  type Till,
} from '../../lib/index.ts'
import { type Operation, operations } from '../../lib/operations.ts'
import { noBody, optionalJson } from '../body.ts'
import { keyOnly } from '../credentials.ts'
import { createImport, explainFile, reconcilePurchases } from '../handlers/purchases.ts'
import { fieldsOf } from '../openapi/schemas.ts'
import { StreamedBody } from '../representation.ts'
import { type AnyRoute, type Call, type Result, type RouteDescription, route } from '../route.ts'
import { form, type Upload } from '../upload.ts'
import { type Handler, handlers, type OperationName } from './handlers.ts'

/** An operation whose names the compiler has checked. */
type CheckedOperation = Operation &
  RouteDescription & { readonly name: OperationName; readonly scope: KeyScope | 'any' }

const BASE = '/manage/v1'

/** The error of a record that does not exist, by the part of the path that names it. */
const NOT_FOUND = [
  ['/keys/:', 'account_key_not_found'],
  ['/items/:', 'item_not_found'],
  ['/imports/:', 'import_not_found'],
  ['/webhooks/:', 'webhook_not_found'],
] as const

type UploadName = Extract<(typeof operations)[number], { readonly isUpload: true }>['name']

/** The handlers of the operations whose body is a form with a file. */
const uploads: {
  readonly [N in UploadName]: (call: Call<KeyedAccount, Upload>) => Promise<Result>
} = {
  'purchases.explain': explainFile,
  'purchases.reconcile': reconcilePurchases,
  'imports.create': createImport,
}

/** The routes of the management API, which are served only with the option `manage`. */
export const manageRoutes = (operations satisfies readonly CheckedOperation[]).map(createRoute)

function createRoute(operation: CheckedOperation): AnyRoute {
  const { scope, errors = [], isReport } = operation
  const credential = keyOnly(scope === 'any' ? undefined : scope)
  const [method = '', path = ''] = operation.http.split(' ')
  const isRead = method === 'GET'
  const isPage = operation.name.endsWith('.list')
  const missing = NOT_FOUND.flatMap(([name, code]) => (path.includes(name) ? [code] : []))
  const description = {
    ...operation,
    errors: [...missing, ...errors, ...(isRead ? ['invalid_request' as const] : [])],
    refusesParameters: true,
    // Reports may take minutes, and have turns of their own in the library.
    isInTurn: isRead && isReport !== true && (isPage ? ('page' as const) : true),
  }
  if (operation.isUpload) {
    const upload = uploads[operation.name as UploadName]
    return route(method, BASE + path, credential, form, upload, description)
  }
  const readBody = isRead ? noBody : optionalJson
  const handler = createHandler(operation, isRead)
  const kind = isReport === undefined ? [] : [kindOf(isReport)]
  return route(method, BASE + path, credential, readBody as never, handler, description, ...kind)
}

function kindOf(isReport: true | readonly string[]): AnyRoute['kind'] {
  if (isReport === true) return 'reports'
  return (query) => (isReport.some((field) => field in query) ? 'reports' : 'reads')
}

type AnyCall = Call<KeyedAccount, { readonly [field: string]: unknown }>

function createHandler(
  { name, query: queryName, body: bodyName, etag, file }: CheckedOperation,
  isRead: boolean,
) {
  const run = handlers[name] ?? libraryMethod(name)
  const schema = queryName ?? bodyName
  return async ({ till, caller, params, query, body, options, signal }: AnyCall) => {
    const picked = isRead && schema ? parseQuery(query, fieldsOf(schema)) : body
    const [id, ...others] = Object.values(params)
    const isId = id !== undefined && !schema && others.length === 0
    const input = (isId ? id : { ...picked, ...params }) as never
    const result = run({ till, caller, input, options, signal })
    if (file) return streamFile(file, result as AsyncIterable<string>)
    const answer = await (result as Promise<object>)
    if (!etag) return { body: answer }
    // A project or a store. The result of a change has the secrets that were sent: reads it again.
    const { get, listSecrets } = till[name.split('.')[0] as 'projects' | 'stores']
    const { store_id, id: key = store_id } = answer as { readonly [F in 'id' | 'store_id']: string }
    // A key that may change a record may see it, even without the scope `read`.
    const { key_id: _, scopes: _scopes, ...account } = caller
    const record = isRead ? (answer as Project | Store) : await get(account, key)
    const secrets = await listSecrets(account, key)
    return { body: { ...record, secrets }, headers: { etag: etagOf(record) } }
  }
}

type Method = (caller: KeyedAccount, input: never, options: CallOptions) => ReturnType<Handler>

function libraryMethod(name: string): Handler {
  const [noun = '', verb = ''] = name.split('.')
  return ({ till, caller, input, options }) => {
    const methods = till[noun as keyof Till] as unknown as { readonly [verb: string]: Method }
    return (methods[verb] as Method)(caller, input, options)
  }
}

/** Converts the query parameters to the values that the library expects. */
function parseQuery(query: AnyCall['query'], fields: ReturnType<typeof fieldsOf>) {
  const entries = Object.entries(fields).flatMap(([name, { type }]) => {
    const value = query[name]
    return value === undefined ? [] : [[name, convert(value, type)]]
  })
  return Object.fromEntries(entries)
}

/** Converts the text of a query parameter to the array or boolean that the library expects. */
function convert(value: string, type: unknown): unknown {
  if (type === 'array') return value.split(',')
  return type === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value
}

/**
 * Answers with a JSON file whose text is created while it is sent. The request counts in the
 * concurrency limit only until its first chunk, not while a slow client reads.
 */
async function streamFile(fileName: string, chunks: AsyncIterable<string>): Promise<Result> {
  const source = chunks[Symbol.asyncIterator]()
  const first = await source.next() // before the headers: an error becomes a problem document
  async function* rest() {
    for (let chunk = first; !chunk.done; chunk = await source.next()) yield Buffer.from(chunk.value)
  }
  const headers = { 'content-disposition': `attachment; filename="${fileName}"` }
  return { body: new StreamedBody(rest()), headers }
}
