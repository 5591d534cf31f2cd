import { json, noBody } from './body.ts'
import { accountKey, anyone, bearer, probe, publicKey } from './credentials.ts'
import { createItem, getItem, listItems } from './handlers/items.ts'
import { health, metrics, ready } from './handlers/probes.ts'
import { createProject, createStore, updateProject } from './handlers/projects.ts'
import { importPurchases, listOwned } from './handlers/purchases.ts'
import { accessToken, init, token } from './handlers/sessions.ts'
import { start } from './handlers/start.ts'
import { route } from './route.ts'
import { form } from './upload.ts'

const AUTH = '/api/v1/identity/auth'

/** All endpoints: method, path, credential, body reader, handler, description. */
export const routes = [
  route('GET', `${AUTH}/access-token`, publicKey, noBody, accessToken, {
    id: 'getAccessToken',
    summary: 'Issue a token for the project',
    description: 'The token belongs to the project, not to a user.',
    answer: 'AccessToken',
  }),
  route('POST', `${AUTH}/init`, publicKey, json, init, {
    id: 'initSession',
    summary: 'Open a session of a user',
    description: 'The answer has all stores of the project. Clients use those that are `active`.',
    body: 'SessionRequest',
    answer: 'InitializedSession',
  }),
  route('POST', `${AUTH}/token`, publicKey, json, token, {
    id: 'createToken',
    summary: 'Open a session of a user, and return only its token',
    body: 'SessionRequest',
    answer: 'Session',
  }),
  route('POST', '/api/v1/items', accountKey('catalog'), json, createItem, {
    id: 'createItem',
    summary: 'Create an item',
    body: 'NewItem',
    answer: 'CreatedItem',
    repeat: 'with key',
    errors: ['quota_exceeded'],
  }),
  route('GET', '/api/v1/items', bearer('items:read', 'items.list'), noBody, listItems, {
    id: 'listItems',
    summary: 'List the items of a store',
    description:
      'The items are in order of creation, without archived items. Without `limit`, the answer ' +
      'has all items. With `limit`, the answer has one page, and a `Link` to the next page.',
    query: 'ItemQuery',
    answer: 'ItemList',
    etag: 'cached',
    headers: ['Link'],
    errors: ['invalid_request'],
  }),
  route('GET', '/api/v1/items/:item_id', bearer('items:read', 'items.get'), noBody, getItem, {
    id: 'getItem',
    summary: 'Read one item',
    description: 'The endpoint returns archived items too.',
    answer: 'Item',
    etag: 'cached',
    errors: ['invalid_request', 'item_not_found'],
  }),
  route(
    'POST',
    '/api/v1/purchases/import',
    bearer('purchases:import', 'imports.create'),
    form,
    importPurchases,
    {
      id: 'importPurchases',
      summary: 'Import a purchase file',
      description:
        'The server imports all rows of the file or none. You can send a file again: the server ' +
        'skips stored rows. Imports into the same store run one after the other.',
      body: 'ImportForm',
      answer: 'ImportResult',
      headers: [
        'Import-Id',
        'Import-Rows',
        'Import-Skipped',
        'Import-Updated',
        'Import-Repeated',
        'Import-Passed-Over',
      ],
      errors: ['invalid_purchases', 'store_inactive', 'quota_exceeded'],
    },
  ),
  route(
    'GET',
    '/api/v1/purchases/owned',
    bearer('items:read', 'purchases.owned'),
    noBody,
    listOwned,
    {
      id: 'listOwnPurchases',
      summary: 'List what the user of the token owns in a store',
      description:
        'An addition to the ten endpoints. Only a token that the account issued to the user is ' +
        'accepted, not one from a public key.',
      query: 'OwnPurchasesQuery',
      answer: 'OwnedPage',
      isExtension: true,
      isInTurn: true,
      errors: ['invalid_request'],
    },
  ),
  route('POST', '/api/v1/projects', accountKey('catalog'), json, createProject, {
    id: 'createProject',
    summary: 'Create a project',
    description: 'A secret appears only in the answer to the request that sent it.',
    body: 'NewProject',
    answer: 'CreatedProject',
    repeat: 'with key',
    headers: ['X-Public-Project-Key'],
    errors: ['quota_exceeded', 'master_key_mismatch'],
  }),
  route(
    'PUT',
    '/api/v1/projects',
    bearer('projects:write', 'projects.update'),
    json,
    updateProject,
    {
      id: 'updateProject',
      summary: 'Change the project of the token',
      description:
        'Fields that are not in the body stay unchanged. A new `config` replaces the stored one. ' +
        'Without `webhook_secret`, it keeps the stored secret, unless it has a new `webhook_url`.',
      body: 'ProjectChange',
      answer: 'Project',
      headers: ['Webhook-Status'],
      errors: ['quota_exceeded', 'master_key_mismatch'],
    },
  ),
  route('POST', '/api/v1/stores', accountKey('catalog'), json, createStore, {
    id: 'createStore',
    summary: 'Create a store',
    description: 'A secret appears only in the answer to the request that sent it.',
    body: 'NewStore',
    answer: 'Store',
    repeat: 'with key',
    errors: ['quota_exceeded', 'master_key_mismatch'],
  }),
  route('GET', '/healthz', probe, noBody, health, {
    id: 'getHealth',
    summary: 'Tell whether the process is alive',
    answer: 'Health',
  }),
  route('GET', '/readyz', probe, noBody, ready, {
    id: 'getReadiness',
    summary: 'Tell whether the server should get requests',
    answer: 'Health',
    errors: ['stopping', 'storage_unavailable'],
  }),
]

/** The route for the metrics, which is served only when metrics are enabled. */
export const metricsRoute = route('GET', '/metrics', probe, noBody, metrics, {
  id: 'getMetrics',
  summary: 'Return the metrics in the text format of Prometheus',
  description: 'This path exists only if the operator has enabled metrics.',
  answer: 'Text',
})

/** The route for the start page. It is no part of the API, and not in the OpenAPI document. */
export const startRoute = route('GET', '/', anyone, noBody, start, {
  id: 'getStart',
  summary: 'Return an index of the server, or redirect to the console',
  answer: 'Document',
})
