import { type BodyReader, json, noBody } from './body.ts'
import type { Answer, Call } from './call.ts'
import type { RequestKind } from './concurrency.ts'
import { accountKey, anyone, bearer, type Credential, publicKey } from './credentials.ts'
import { createItem, getItem, listItems } from './handlers/items.ts'
import { health, metrics, ready } from './handlers/operations.ts'
import { createProject, updateProject } from './handlers/projects.ts'
import { importPurchases } from './handlers/purchases.ts'
import { accessToken, init, token } from './handlers/sessions.ts'
import { createStore } from './handlers/stores.ts'
import { form } from './upload.ts'

const AUTH = '/api/v1/identity/auth'

/** All endpoints: method, path, credential, body reader, handler. */
export const routes = [
  route('GET', `${AUTH}/access-token`, publicKey, noBody, accessToken),
  route('POST', `${AUTH}/init`, publicKey, json, init),
  route('POST', `${AUTH}/token`, publicKey, json, token),
  route('POST', '/api/v1/items', accountKey, json, createItem),
  route('GET', '/api/v1/items', bearer('items:read'), noBody, listItems),
  route('GET', '/api/v1/items/:item_id', bearer('items:read'), noBody, getItem),
  route('POST', '/api/v1/purchases/import', bearer('purchases:import'), form, importPurchases),
  route('POST', '/api/v1/projects', accountKey, json, createProject),
  route('PUT', '/api/v1/projects', bearer('projects:write'), json, updateProject),
  route('POST', '/api/v1/stores', accountKey, json, createStore),
  route('GET', '/healthz', anyone, noBody, health),
  route('GET', '/readyz', anyone, noBody, ready),
]

/** The route for the metrics, which is served only when metrics are enabled. */
export const metricsRoute = route('GET', '/metrics', anyone, noBody, metrics)

export interface Route<Caller, Body> {
  readonly method: string
  readonly path: string
  readonly credential: Credential<Caller>
  readonly readBody: BodyReader<Body>
  /** Selects the concurrency limit of the route. */
  readonly kind: RequestKind
  readonly handler: (call: Call<Caller, Body>) => Promise<Answer>
}

export type AnyRoute = Route<unknown, unknown>

/** Creates a route. The compiler checks that credential, body and handler fit together. */
function route<Caller, Body>(
  method: string,
  path: string,
  credential: Credential<Caller>,
  readBody: BodyReader<Body>,
  handler: (call: Call<Caller, Body>) => Promise<Answer>,
): AnyRoute {
  const kind = kindOf(readBody as BodyReader<unknown>)
  return { method, path, credential, readBody, kind, handler } as AnyRoute
}

function kindOf(readBody: BodyReader<unknown>): RequestKind {
  if (readBody === noBody) return 'reads'
  return readBody === form ? 'uploads' : 'writes'
}
