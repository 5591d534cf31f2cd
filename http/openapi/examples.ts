import { type ErrorCode, type ErrorDetail, TillError } from '../../lib/index.ts'
import { type FaultCode, faults, type HttpErrorCode } from '../faults.ts'
import { createProblem, type Problem, TransportFault } from '../problems.ts'
import type { SchemaName } from './schemas.ts'

const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGF5ZXItMSJ9.c2lnbmF0dXJl'
const session = { token, expires_at: '2026-01-31T13:00:00Z', expires_in_seconds: 3600 }

const createdItem = {
  id: 'itm_01m8k2q7v3',
  name: 'sword',
  display_name: 'Sword',
  description: '',
}
const item = { ...createdItem, price: 499, type: 'non_consumable', store_id: 'main', metadata: {} }

const project = {
  id: 'prj_01m8k2q7v1',
  account_id: 'acc_01m8k2q7v0',
  name: 'Game',
  bundle_id: 'com.example.game',
  platform: 'mobile',
  status: 'active',
  config: { allowed_currencies: ['USD'] },
}
const { account_id, name, bundle_id, platform, config } = project

const store = {
  store_id: 'main',
  project_id: project.id,
  store_type: 'web',
  is_sandbox: false,
  status: 'active',
  store_config: { currency: 'USD' },
}
const { project_id, store_id, store_type, store_config } = store

/** An example of each request body and response body. */
export const examples = {
  SessionRequest: { user_id: 'player-1', device_info: { platform: 'ios', app_version: '1.4.0' } },
  NewItem: {
    store_id: 'main',
    name: 'sword',
    display_name: 'Sword',
    price: '499',
    type: 'non_consumable',
  },
  NewProject: { account_id, name, bundle_id, platform, config },
  ProjectChange: { id: project.id, name: 'Game 2' },
  NewStore: { project_id, store_id, store_type, store_config },
  ImportForm: {
    store_id: 'main',
    file: 'transaction_id,sku,purchased_at\nT-1001,sword,2026-01-31T12:00:00Z\n',
  },
  AccessToken: { access_token: token, ttl_seconds: 3600 },
  Session: session,
  InitializedSession: {
    project: { id: project.id, name, bundle_id, platform, status: 'active', dlscheme: '' },
    session,
    stores: [{ id: 'main', store_type: 'web', is_sandbox: false, status: 'active' }],
  },
  CreatedItem: createdItem,
  Item: item,
  ItemList: { items: [item] },
  ImportResult: { ok: true },
  CreatedProject: project,
  Project: { ...project, name: 'Game 2', public_key: 'pk_zq4Yt1u8Jc0bX3s6Vw9eR2a7' },
  Store: store,
  Health: { status: 'ok' },
  // The bodies of the management API.
  ManagedProjectInput: { name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' },
  ManagedProjectChange: { name: 'Game 2' },
  AccountKeyInput: { name: 'Game server', scopes: ['read', 'purchases'] },
  AccountKeyChange: { scopes: ['read'] },
  WebhookChange: { events: ['purchase.recorded', 'purchases.refunded'] },
  NewToken: { user_id: 'player-1', ttl_seconds: 3600 },
  TokenRevocation: { user_id: 'player-1' },
  TokenCheck: { token: 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl' },
  KeyRotation: { grace_period: 86_400_000 },
  ManagedStoreChange: { store_config: { currency: 'USD' } },
  ItemChange: { price: '599' },
  CatalogRequest: { catalog: { stores: [] }, archive_missing: false },
  PurchaseInput: {
    transaction_id: 'T-1002',
    sku: 'sword',
    purchased_at: '2026-01-31T12:00:00Z',
    user_id: 'player-1',
    price: 499,
  },
  OrderKey: { transaction_id: 'GPA.3345-1234' },
  ManagedImportForm: {
    file: 'transaction_id,sku,purchased_at\nT-1001,sword,2026-01-31T12:00:00Z\n',
    dry_run: true,
  },
  ExplainForm: { file: 'Order No,Article,When\n1001,sword,2026-01-31 12:00\n' },
  ReconcileForm: {
    file: 'transaction_id,sku,purchased_at\nT-1001,sword,2026-01-31T12:00:00Z\n',
    from: '2026-01-01',
    to: '2026-02-01',
  },
  ImportUndo: { force: false },
  UserErasure: { delete: false },
  WebhookReplay: { since: '2026-01-31T12:00:00Z' },
  WebhookConfirmation: { url: 'https://shop.example/hook' },
} as const satisfies { readonly [S in SchemaName]?: unknown }

export type ProblemCode = ErrorCode | HttpErrorCode

/** The problem document for this error code, as the server creates it. */
export function exampleProblem(code: ProblemCode): Problem {
  const { status, headers, body } = createProblem(errorOf(code), REQUEST_ID)
  return { status, headers, body: { ...body, detail: body.detail || body.title } }
}

const REQUEST_ID = '5f0c8c1e-52f3-4a0b-9a57-6a1f0f5d2c33'

function errorOf(code: ProblemCode): Error {
  if (code === 'internal_error') return new Error()
  if (isFault(code)) return new TransportFault(code, '')
  const [message = '', mistake] = mistakes[code] ?? []
  return new TillError(code, message, mistake && [mistake])
}

function isFault(code: string): code is FaultCode {
  return Object.hasOwn(faults, code)
}

const mistakes: { readonly [code: string]: readonly [message: string, mistake: ErrorDetail] } = {
  invalid_request: [
    'name is taken in this store',
    { field: 'name', code: 'taken', message: 'is taken in this store' },
  ],
  invalid_purchases: [
    '1 mistake in the file',
    { line: 2, column: 'sku', code: 'unknown_sku', message: 'no item of the store has this name' },
  ],
}
