import type { JsonSchema } from '../../lib/index.ts'
import { optionalJson } from '../body.ts'
import type { AnyRoute } from '../route.ts'
import { readVersion } from '../version.ts'
import { exampleProblem, type ProblemCode } from './examples.ts'
import { responseHeaders } from './headers.ts'
import { contentOf, errorsOf, problemResponse, responsesOf } from './responses.ts'
import { createAllSchemas, type SchemaName } from './schemas.ts'

/** An OpenAPI 3.1 document, as plain JSON. */
export type OpenApiDocument = { readonly [field: string]: unknown }

export interface OpenApiOptions {
  /** Whether to describe the management API too. */
  readonly manage?: boolean
  /**
   * The URL or path under which the API is mounted. Without it, clients use the origin of the
   * document.
   */
  readonly url?: string
}

/** Describes routes as an OpenAPI document. */
export function describeRoutes(
  routes: readonly AnyRoute[],
  { url }: OpenApiOptions,
): OpenApiDocument {
  const schemas = createAllSchemas()
  const isManaged = routes.some(isManageRoute)
  const codes = [...new Set(routes.flatMap(errorsOf))].sort()
  const paths: { [path: string]: { [method: string]: object } } = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    const methods = { ...paths[path], [route.method.toLowerCase()]: operation(route, schemas) }
    paths[path] = methods
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'tillkit',
      version: readVersion(),
      description: isManaged ? DESCRIPTION + MANAGE_DESCRIPTION : DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    ...(url && { servers: [{ url }] }),
    paths,
    components: {
      securitySchemes,
      ...usedBy(paths, {
        schemas,
        parameters,
        headers: responseHeaders,
        responses: Object.fromEntries(codes.map((code) => [code, problemResponse([code])])),
        examples: Object.fromEntries(codes.map((code) => [code, problemExample(code)])),
      }),
    },
  }
}

type Components = { readonly [kind: string]: { readonly [name: string]: unknown } }

/** Picks the components that `paths` refers to, also through other components. */
function usedBy(paths: object, components: Components): Components {
  const used = new Set<string>()
  const visit = (node: unknown) => {
    for (const [pointer, kind = '', name = ''] of JSON.stringify(node).matchAll(REFERENCE)) {
      if (used.has(pointer)) continue
      used.add(pointer)
      visit(components[kind]?.[name])
    }
  }
  visit(paths)
  const pick = ([kind, all]: [string, object]) => {
    const kept = Object.entries(all).filter(([name]) => used.has(`#/components/${kind}/${name}`))
    return [kind, Object.fromEntries(kept)]
  }
  return Object.fromEntries(Object.entries(components).map(pick))
}

const REFERENCE = /#\/components\/(\w+)\/([\w-]+)/g

const DESCRIPTION = `The commerce API of tillkit.

- A 200 answer has exactly the fields of its schema. No field is null or missing.
- Unknown fields of a request are ignored, but a field or query parameter in another spelling
  (\`isSandbox\`) is an error.
  \`null\` for an optional field means that it is absent.
- Strings are well-formed Unicode without U+0000. Lengths count code points.
- An unknown path gets 404 \`route_not_found\`. A method that the path does not have gets 405
  \`method_not_allowed\`. Every GET path answers HEAD, and every path answers OPTIONS.
- For a record of another account, the answer is the same as for an unknown record.`

const MANAGE_DESCRIPTION = `
- Routes below \`/manage/v1\` exist only if the server runs with \`--manage\` or \`--console\`. A
  minor version of tillkit adds routes and fields. Before it removes one, the answers of an earlier
  minor version have the header \`Deprecation\`. Answers leave out fields that do not apply.`

const securitySchemes = {
  publicKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-public-project-key',
    description: 'The public key of a project, `pk_…`.',
  },
  accountKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-account-key',
    description: 'An account key, `ak_…`. Keep it on your servers.',
  },
  token: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'A token of a session. Its scopes are `items:read`, `projects:write` and `purchases:import`; ' +
      'in lockdown, tokens from a public key have only `items:read`.',
  },
}

const parameters = {
  requestId: {
    name: 'X-Request-Id',
    in: 'header',
    schema: { type: 'string', pattern: '^[\\w-]{1,64}$' },
    description:
      'A request id of your own. The server replaces an id that does not match this pattern.',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    description:
      'A request that is repeated with the same key within 24 hours gets the first answer again.',
  },
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    schema: { type: 'string' },
    description:
      'The ETag of the record that was read. If the record has changed since, the answer is 412.',
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    schema: { type: 'string' },
    description: 'The ETag of an earlier answer. If nothing has changed since, the answer is 304.',
  },
}

type Schemas = ReturnType<typeof createAllSchemas>

function operation(route: AnyRoute, schemas: Schemas): object {
  const { credential, description: about } = route
  const { scheme, scope } = credential
  return {
    operationId: about.id,
    summary: about.summary,
    ...(about.description && { description: about.description }),
    ...(about.isExtension && { 'x-extension': true }),
    tags: [tagOf(route)],
    security: scheme ? [{ [scheme]: scope ? [scope] : [] }] : [],
    parameters: [
      ...pathParameters(route.path),
      ...(about.query ? queryParameters(route.path, schemas[about.query]) : []),
      ...(about.repeat === 'with key' ? [{ $ref: '#/components/parameters/idempotencyKey' }] : []),
      ...(about.etag === 'matched' ? [{ $ref: '#/components/parameters/ifMatch' }] : []),
      ...(about.etag === 'cached' ? [{ $ref: '#/components/parameters/ifNoneMatch' }] : []),
      { $ref: '#/components/parameters/requestId' },
    ],
    ...(about.body && { requestBody: requestBody(route, about.body, schemas) }),
    responses: responsesOf(route),
  }
}

/**
 * The tag of a route: the first path segment after the version, such as `items`. Routes outside the
 * API get `operation`, those of the management API `manage`.
 */
function tagOf({ path }: AnyRoute): string {
  if (isManageRoute({ path })) return 'manage'
  return /^\/api\/v1\/(\w+)/.exec(path)?.[1] ?? 'operation'
}

function isManageRoute({ path }: { readonly path: string }): boolean {
  return path.startsWith('/manage/')
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } }
  })
}

function queryParameters(path: string, { properties, required = [] }: JsonSchema): object[] {
  const inPath = path.split('/')
  const others = Object.entries(properties as object).filter(([n]) => !inPath.includes(`:${n}`))
  return others.map(([name, schema]) => {
    // The values of an array are separated by commas: OpenAPI's default is a repeated parameter.
    const style = schema.type === 'array' ? { explode: false } : {}
    return { name, in: 'query', required: (required as string[]).includes(name), ...style, schema }
  })
}

function requestBody({ kind, readBody }: AnyRoute, body: SchemaName, schemas: Schemas): object {
  const type = kind === 'uploads' ? 'multipart/form-data' : 'application/json'
  const isEmptyAllowed = readBody === optionalJson && !('required' in schemas[body])
  return { required: !isEmptyAllowed, content: contentOf(type, body) }
}

function problemExample(code: ProblemCode): object {
  const { body } = exampleProblem(code)
  return { summary: body.title, value: body }
}
