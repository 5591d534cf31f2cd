/** The ten endpoints with their credentials and error statuses, as the specification lists them. */
export const ROUTES = {
  1: route('GET', '/api/v1/identity/auth/access-token', 'public key', [400, 500]),
  2: route('POST', '/api/v1/identity/auth/init', 'public key', [400, 500]),
  3: route('POST', '/api/v1/identity/auth/token', 'public key', [400, 500]),
  4: route('POST', '/api/v1/items', 'account key', [400, 401, 500]),
  5: route('GET', '/api/v1/items', 'token', [400, 401, 500]),
  6: route('GET', '/api/v1/items/{item_id}', 'token', [400, 401, 404]),
  // The specification lists no errors of the import, but its authentication rule 4 requires 401.
  7: route('POST', '/api/v1/purchases/import', 'token', [401]),
  8: route('POST', '/api/v1/projects', 'account key', [400, 401, 500]),
  9: route('PUT', '/api/v1/projects', 'token', [400, 401, 500]),
  10: route('POST', '/api/v1/stores', 'account key', [400, 401, 500]),
}

export type EndpointNumber = keyof typeof ROUTES

/** The statuses and headers of a credential. `refusal` is the status without a valid credential. */
export const CREDENTIALS = {
  'public key': { header: 'x-public-project-key', prefix: '', shown: '$PUBLIC_KEY', refusal: 400 },
  'account key': { header: 'x-account-key', prefix: '', shown: '$ACCOUNT_KEY', refusal: 401 },
  token: { header: 'authorization', prefix: 'Bearer ', shown: '$TOKEN', refusal: 401 },
} as const

export type CredentialKind = keyof typeof CREDENTIALS

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly credential: CredentialKind
  readonly errors: readonly number[]
}

function route(
  method: Route['method'],
  path: string,
  credential: CredentialKind,
  errors: readonly number[],
): Route {
  return { method, path, credential, errors }
}
