import { createSchemas, type ErrorDetail, type OwnedItem, type SkuSales } from '../../lib/index.ts'
import { type AccessTokenAnswer, answerFields, type SessionAnswer } from '../answers.ts'
import { createManagedSchemas } from '../manage/schemas.ts'
import type { Problem } from '../problems.ts'
import {
  count,
  importParts,
  objectOf,
  type Properties,
  page,
  pick,
  ref,
  text,
  time,
} from './shapes.ts'

export type SchemaName = keyof ReturnType<typeof createAllSchemas>

/** Creates all schemas, also those of the management API. */
export function createAllSchemas() {
  return { ...createBodySchemas(), ...createManagedSchemas() }
}

/**
 * Creates the schemas of all bodies and queries. An answer has exactly the fields of its schema.
 */
function createBodySchemas() {
  const { inputs, records } = createSchemas()
  const { item, project, store } = records
  const session = {
    token: jwt,
    expires_at: time,
    expires_in_seconds: count,
  }
  return {
    ...inputs,
    NewStore: {
      oneOf: [ref('NewWebStore'), ref('NewIapStore'), ref('NewCustomStore')],
      discriminator: {
        propertyName: 'store_type',
        mapping: {
          web: '#/components/schemas/NewWebStore',
          iap: '#/components/schemas/NewIapStore',
          custom: '#/components/schemas/NewCustomStore',
        },
      },
    },
    ImportForm: {
      type: 'object',
      properties: {
        ...importParts,
        store_id: { ...store.store_id, description: "An active store of the token's project." },
      },
      required: ['file', 'store_id'],
    },
    AccessToken: objectOf<AccessTokenAnswer>({ access_token: jwt, ttl_seconds: count }),
    Session: objectOf<SessionAnswer>(session),
    InitializedSession: objectOf({
      project: pick(project, ...answerFields.openedProject),
      session: ref('Session'),
      stores: {
        type: 'array',
        items: pick({ ...store, id: store.store_id }, 'id', ...answerFields.openedStore),
      },
    }),
    CreatedItem: pick(item, ...answerFields.createdItem),
    Item: pick(item, ...answerFields.item),
    ItemList: objectOf({ items: { type: 'array', items: ref('Item') } }),
    ImportResult: objectOf({ ok: { const: true } }),
    OwnedItem: objectOf<OwnedItem>({
      sku: text,
      type: text,
      display_name: text,
      quantity: count,
      first_purchased_at: time,
      last_purchased_at: time,
      'expires_at?': {
        ...time,
        description: 'When the last of the purchases ends. Missing if one of them has no end.',
      },
    }),
    OwnedPage: page('owned', 'OwnedItem'),
    CreatedProject: pick(project, ...answerFields.createdProject),
    Project: pick(project, ...answerFields.project),
    Store: pick(store, ...answerFields.store),
    Health: objectOf({ status: { const: 'ok' } }),
    Text: text,
    Document: { type: 'object', additionalProperties: true, description: 'An OpenAPI document.' },
    Problem: problem,
  } satisfies Properties
}

type Types = { readonly [field: string]: { readonly type?: unknown } }

let schemas: ReturnType<typeof createAllSchemas> | undefined

/** The names and types of the fields of a query or body. */
export function fieldsOf(name: SchemaName): Types {
  // `NewStore` is a union of three schemas, one for each store type, with the same fields.
  schemas ??= createAllSchemas()
  const schema = schemas[name === 'NewStore' ? 'NewWebStore' : name]
  return (schema as { readonly properties: Types }).properties
}

const jwt = { type: 'string', pattern: '^[\\w-]+\\.[\\w-]+\\.[\\w-]+$', description: 'A JWT.' }

const detail = objectOf<ErrorDetail>({
  'field?': text,
  'line?': count,
  'column?': text,
  code: text,
  message: text,
  'sku?': text,
  'rows?': count,
  'title?': text,
  'sales?': {
    type: 'array',
    items: objectOf<SkuSales>({ currency: text, total: text, price: text }),
  },
})

const problem = {
  ...objectOf<Problem['body']>({
    type: { type: 'string', pattern: '^urn:tillkit:error:[a-z_]+$' },
    title: text,
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string', description: 'An explanation for people.' },
    code: { type: 'string', description: 'The error code, for programs.' },
    request_id: text,
    'errors?': {
      type: 'array',
      items: detail,
      description: 'The first 100 mistakes in the request.',
    },
  }),
  description: 'An error (RFC 9457).',
}
