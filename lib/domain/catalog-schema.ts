import { ITEM_TYPES } from './item.ts'
import { PLATFORMS } from './project.ts'
import { STORE_TYPES } from './store.ts'

const text = (minLength: number, maxLength: number) => ({ type: 'string', minLength, maxLength })

const secret = {
  description: 'A reference to the environment variable that holds the secret.',
  oneOf: [
    { type: 'null' },
    {
      type: 'object',
      properties: { env: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,254}$' } },
      required: ['env'],
      additionalProperties: false,
    },
  ],
}

const currency = { type: 'string', pattern: '^[A-Z]{3}$' }

const item = {
  type: 'object',
  description: 'A field that is left out stays as it is. A new item needs the first four.',
  properties: {
    name: {
      type: 'string',
      pattern: '^[A-Za-z0-9_]{1,255}$',
      description: 'The SKU, unique in the store. It never changes.',
    },
    display_name: text(1, 255),
    price: {
      type: 'string',
      pattern: '^[0-9]{1,32}$',
      description: 'Minor currency units: "499" for 4.99.',
    },
    type: { enum: ITEM_TYPES, description: 'It never changes.' },
    description: text(0, 4096),
    metadata: { type: 'object' },
    archived: { type: 'boolean', description: 'true archives the item, false restores it.' },
  },
  required: ['name'],
  additionalProperties: false,
}

const store = {
  type: 'object',
  description: 'A field that is left out stays as it is.',
  properties: {
    store_id: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
    store_type: { enum: STORE_TYPES, description: 'It never changes.' },
    is_sandbox: { type: 'boolean' },
    status: text(1, 64),
    store_config: {
      type: 'object',
      properties: { currency, webhook_secret: secret, shared_secret: secret, api_key: secret },
    },
    items: { type: 'array', items: item },
  },
  required: ['store_id'],
  additionalProperties: false,
}

/** The JSON Schema (draft 2020-12) of a catalog file, for editors and checks before `plan`. */
export const CATALOG_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'tillkit catalog',
  type: 'object',
  properties: {
    $schema: { type: 'string' },
    project: {
      type: 'object',
      description: 'A field that is left out stays as it is.',
      properties: {
        id: text(1, 64),
        name: text(1, 255),
        bundle_id: { ...text(3, 155), description: 'It never changes.' },
        platform: { enum: PLATFORMS },
        status: text(1, 64),
        dlscheme: { ...text(0, 255), description: 'It never changes.' },
        config: {
          type: 'object',
          properties: {
            allowed_currencies: { type: 'array', items: currency },
            webhook_secret: secret,
          },
        },
      },
      additionalProperties: false,
    },
    stores: { type: 'array', items: store },
  },
  additionalProperties: false,
} as const
