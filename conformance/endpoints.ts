import { createOpenApi } from '../http/openapi.ts'

/** A JSON Schema of the OpenAPI document. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
}

type Content = { readonly [type: string]: { readonly schema: Schema } }

interface Operation {
  readonly 'x-extension'?: boolean
  readonly security: readonly { readonly [C in CredentialKind]?: unknown }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: { readonly 200: { readonly content: Content } }
}

interface Document {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}

/** The headers of credentials. `refusal` is the status of a request without a valid one. */
export const CREDENTIALS = {
  publicKey: { name: 'public key', header: 'x-public-project-key', prefix: '', refusal: '400' },
  accountKey: { name: 'account key', header: 'x-account-key', prefix: '', refusal: '401' },
  token: { name: 'token', header: 'authorization', prefix: 'Bearer ', refusal: '401' },
} as const

export type CredentialKind = keyof typeof CREDENTIALS

/** The shell variable that stands for a credential in reports, such as `$PUBLIC_KEY`. */
export function variableOf(kind: CredentialKind): string {
  return `$${CREDENTIALS[kind].name.replace(' ', '_').toUpperCase()}`
}

/** One of the ten endpoints, as the OpenAPI document of tillkit describes it. */
export type Endpoint = ReturnType<typeof describe>

const { paths, components } = createOpenApi() as unknown as Document

const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, operation]) => path.startsWith('/api/') && !operation['x-extension'])
    .map(([method, operation]) => describe(method, path, operation)),
)

/** The endpoint with this number, in the order of the specification. */
export function endpointOf(number: number): Endpoint {
  const endpoint = endpoints[number - 1]
  if (!endpoint) throw new TypeError(`there is no endpoint ${number}`)
  return endpoint
}

function describe(method: string, path: string, { security, requestBody, responses }: Operation) {
  const [credential] = Object.keys(security[0] ?? {}) as [CredentialKind]
  const [bodyType] = Object.keys(requestBody?.content ?? {})
  const { properties = {}, required = [] } = resolve(schemaOf(requestBody?.content))
  return {
    method: method.toUpperCase(),
    path,
    credential,
    bodyType,
    /** The schemas of the fields of the request body, and the names of those that it must have. */
    fields: properties,
    required,
    /** The schema of the body of an answer with status 200. */
    answer: schemaOf(responses[200].content),
  }
}

function schemaOf(content: Content = {}): Schema {
  return Object.values(content)[0]?.schema ?? {}
}

/** Follows a reference. Of a union, returns the first member: all of them have the same fields. */
export function resolve(schema: Schema): Schema {
  const [first = schema] = schema.oneOf ?? []
  if (first.$ref === undefined) return first
  return resolve(components.schemas[first.$ref.split('/').at(-1) ?? ''] ?? {})
}
