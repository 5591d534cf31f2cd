import type { CallOptions, Till } from '../lib/index.ts'
import { type BodyReader, json, noBody } from './body.ts'
import type { RequestKind } from './concurrency.ts'
import { accountKey, anyone, bearer, type Credential, publicKey } from './credentials.ts'
import { createItem, getItem, listItems } from './handlers/items.ts'
import { health, metrics, ready } from './handlers/operations.ts'
import { createProject, updateProject } from './handlers/projects.ts'
import { importPurchases } from './handlers/purchases.ts'
import { accessToken, init, token } from './handlers/sessions.ts'
import { createStore } from './handlers/stores.ts'
import type { Headers } from './problems.ts'
import type { Representation } from './representation.ts'
import type { Stream } from './send.ts'
import type { Service } from './service.ts'
import { form } from './upload.ts'

const AUTH = '/api/v1/identity/auth'

/** Every endpoint: method, path, credential, body, handler. */
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

/** There only when it is asked for. */
export const metricsRoute = route('GET', '/metrics', anyone, noBody, metrics)

/** What a handler gets: who calls, and the request in the library's terms. */
export interface Call<Who, Body> {
  readonly till: Till
  readonly who: Who
  readonly body: Body
  /** Percent-decoded; undefined where the encoding is malformed. */
  readonly params: { readonly [name: string]: string | undefined }
  /** Of a repeated parameter the first. */
  readonly query: { readonly [name: string]: string }
  /** What goes with a call of the library. */
  readonly options: CallOptions
  /** The server itself. */
  readonly service: Service
}

/**
 * What a handler answers, with status 200: what JSON is made of, a representation that is made
 * already, one that is made piece by piece, or text with a `content-type` of its own.
 */
export interface Answer {
  readonly body: object | string | Representation | Stream
  readonly headers?: Headers
}

export interface Route<Who, Body> {
  readonly method: string
  readonly path: string
  readonly credential: Credential<Who>
  readonly readBody: BodyReader<Body>
  /** Which concurrency limit it has. */
  readonly kind: RequestKind
  readonly handler: (call: Call<Who, Body>) => Promise<Answer>
}

/** One row; forgets the types that have bound its credential and body to its handler. */
function route<Who, Body>(
  method: string,
  path: string,
  credential: Credential<Who>,
  readBody: BodyReader<Body>,
  handler: (call: Call<Who, Body>) => Promise<Answer>,
): Route<unknown, unknown> {
  const kind = kindOf(readBody as BodyReader<unknown>)
  return { method, path, credential, readBody, kind, handler } as Route<unknown, unknown>
}

function kindOf(readBody: BodyReader<unknown>): RequestKind {
  if (readBody === noBody) return 'reads'
  return readBody === form ? 'uploads' : 'writes'
}
