import { noBody } from './body.ts'
import { anyone } from './credentials.ts'
import { describeRoutes, type OpenApiDocument, type OpenApiOptions } from './openapi/document.ts'
import { represent } from './representation.ts'
import { metricsRoute, route, routes } from './routes.ts'

let served: OpenApiDocument | undefined

/** `GET /openapi.json`: the document, which is built at the first request. */
export const openApiRoute = route('GET', '/openapi.json', anyone, noBody, getOpenApi, {
  id: 'getOpenApi',
  summary: 'Return this document',
  answer: 'Document',
  isCached: true,
})

async function getOpenApi() {
  served ??= createOpenApi()
  return { body: represent(served, (document) => document) }
}

/**
 * Creates the OpenAPI 3.1 document of the HTTP API, from the route table and the validation rules.
 *
 * @example
 * writeFileSync('openapi.json', JSON.stringify(createOpenApi({ url: 'https://shop.example' })))
 */
export function createOpenApi(options: OpenApiOptions = {}): OpenApiDocument {
  return describeRoutes([...routes, metricsRoute, openApiRoute], options)
}
