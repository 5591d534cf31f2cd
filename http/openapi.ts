import { BoundedMap } from '../lib/bounded-map.ts'
import { noBody } from './body.ts'
import { anyone } from './credentials.ts'
import { manageRoutes } from './manage/routes.ts'
import { describeRoutes, type OpenApiDocument, type OpenApiOptions } from './openapi/document.ts'
import { represent } from './representation.ts'
import { type Call, route } from './route.ts'
import { metricsRoute, routes } from './routes.ts'

/**
 * Caches the documents by prefix and by the option `manage`. The size is bounded, because clients
 * can choose a part of a prefix like `/:shop`.
 */
const served = new BoundedMap<OpenApiDocument>(8)

/** `GET /openapi.json`: the document, which is built at the first request. */
export const openApiRoute = route('GET', '/openapi.json', anyone, noBody, getOpenApi, {
  id: 'getOpenApi',
  summary: 'Return the OpenAPI document',
  answer: 'Document',
  etag: 'cached',
})

async function getOpenApi({ prefix, context: { manage } }: Call<undefined, undefined>) {
  const key = `${manage} ${prefix}`
  let document = served.get(key)
  if (!document) {
    // Without `servers`, clients send their requests to the root of the document's origin.
    document = createOpenApi({ manage, ...(prefix !== '' && { url: prefix }) })
    served.set(key, document)
  }
  return { body: represent(document, (document) => document) }
}

/**
 * Creates the OpenAPI 3.1 document of the HTTP API, from the route table and the validation rules.
 *
 * @example
 * writeFileSync('openapi.json', JSON.stringify(createOpenApi({ url: 'https://shop.example' })))
 */
export function createOpenApi(options: OpenApiOptions = {}): OpenApiDocument {
  const managed = options.manage ? manageRoutes : []
  return describeRoutes([...routes, metricsRoute, openApiRoute, ...managed], options)
}
