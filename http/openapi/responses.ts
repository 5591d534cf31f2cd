import { noBody } from '../body.ts'
import { METRICS_CONTENT_TYPE } from '../prometheus.ts'
import type { AnyRoute } from '../route.ts'
import { exampleProblem, examples, type ProblemCode } from './examples.ts'
import type { HeaderName } from './headers.ts'
import type { SchemaName } from './schemas.ts'
import { ref } from './shapes.ts'

const RATE_LIMITS: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy']

const HEADERS_OF_STATUS: { readonly [status: number]: readonly HeaderName[] } = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** All responses of a route, by status. */
export function responsesOf(route: AnyRoute): object {
  const { answer, etag, file, headers: own = [] } = route.description
  const limits = route.credential.isProbe ? [] : RATE_LIMITS
  const headers = headersOf([
    ...own,
    ...(etag ? (['ETag'] as const) : []),
    ...(file ? (['Content-Disposition'] as const) : []),
    ...limits,
  ])
  const type = answer === 'Text' ? METRICS_CONTENT_TYPE : 'application/json'
  const unchanged = { description: 'The client has the current answer already.', headers }
  return {
    200: { description: 'OK', headers, content: contentOf(type, answer) },
    ...(etag === 'cached' && { 304: unchanged }),
    ...problemsOf(errorsOf(route)),
  }
}

/** The media type of a body, with its schema and example. */
export function contentOf(type: string, schema: SchemaName): object {
  const example = (examples as { readonly [schema: string]: unknown })[schema]
  return { [type]: { schema: ref(schema), ...(example !== undefined && { example }) } }
}

/** One response for each status of the errors. */
function problemsOf(codes: readonly ProblemCode[]): object {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of [...codes].sort()) {
    const { status } = exampleProblem(code)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const responses = [...byStatus].map(([status, [code, ...more]]) => {
    const shared = { $ref: `#/components/responses/${code}` }
    return [status, code && more.length > 0 ? problemResponse([code, ...more]) : shared]
  })
  return Object.fromEntries(responses)
}

/** The response for errors with the same status. */
export function problemResponse(codes: readonly [ProblemCode, ...ProblemCode[]]): object {
  const { status } = exampleProblem(codes[0])
  const refs = codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])
  const schema = { allOf: [ref('Problem'), { properties: { code: { enum: codes } } }] }
  return {
    description: codes.map((code) => exampleProblem(code).body.title).join('. '),
    headers: headersOf([...(HEADERS_OF_STATUS[status] ?? []), ...RATE_LIMITS]),
    content: { 'application/problem+json': { schema, examples: Object.fromEntries(refs) } },
  }
}

function headersOf(names: readonly HeaderName[]): object {
  const all = [...names, 'X-Request-Id']
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The errors of every request, whatever its route. */
const ANY: readonly ProblemCode[] = ['malformed_request', 'request_timeout', 'headers_too_large']

const OF_CREDENTIAL = {
  publicKey: ['invalid_public_key', 'project_inactive'],
  accountKey: ['account_key_required'],
  token: ['token_required'],
} as const satisfies { readonly [scheme: string]: readonly ProblemCode[] }

const OF_LIMITS: readonly ProblemCode[] = ['internal_error', 'overloaded', 'storage_unavailable']

const OF_BODY: readonly ProblemCode[] = [
  'invalid_request',
  'body_too_large',
  'unsupported_media_type',
]

/** All error codes that a route may answer with. */
export function errorsOf({ credential, readBody, description }: AnyRoute): ProblemCode[] {
  const { scheme, scope, isProbe } = credential
  return [
    ...ANY,
    ...(scheme ? OF_CREDENTIAL[scheme] : []),
    ...(scope ? (['insufficient_scope'] as const) : []),
    ...(isProbe ? [] : (['rate_limited'] as const)),
    ...(scheme ? OF_LIMITS : []),
    ...(readBody === noBody ? [] : OF_BODY),
    ...(description.errors ?? []),
  ]
}
