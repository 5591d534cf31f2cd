import type { Catalog, CatalogProject, CatalogStore } from './catalog.ts'
import { currency as currencyCode, type JsonSchema, type Rule, text as textRule } from './fields.ts'
import { ITEM, ITEM_NAMES, REQUIRED_ITEM_FIELDS } from './item.ts'
import { PLATFORMS } from './project.ts'
import { STORE_TYPES, storeId } from './store.ts'

const text = (min: number, max: number) => textRule(min, max).schema

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

const currency = currencyCode.schema

const itemFields = [...new Set([...REQUIRED_ITEM_FIELDS, ...ITEM_NAMES])]

function schemaOf({ rule, isFixed }: { rule: Rule<unknown>; isFixed?: true }): JsonSchema {
  const { description = '', ...schema } = rule.schema
  const texts = [description, isFixed ? 'It never changes.' : ''].filter((each) => each !== '')
  return texts.length === 0 ? schema : { ...schema, description: texts.join(' ') }
}

const item = {
  type: 'object',
  description: 'A field that is left out stays as it is. A new item needs the first four.',
  properties: {
    ...Object.fromEntries(itemFields.map((name) => [name, schemaOf(ITEM[name])])),
    archived: { type: 'boolean', description: 'true archives the item, false restores it.' },
  },
  required: ['name'],
  additionalProperties: false,
}

const store = {
  type: 'object',
  description: 'A field that is left out stays as it is.',
  properties: {
    store_id: storeId.schema,
    store_type: { enum: STORE_TYPES, description: 'It never changes.' },
    is_sandbox: { type: 'boolean' },
    status: text(1, 64),
    store_config: {
      type: 'object',
      properties: { currency, webhook_secret: secret, shared_secret: secret, api_key: secret },
    },
    items: { type: 'array', items: item },
  } satisfies Record<keyof CatalogStore, JsonSchema>,
  required: ['store_id'],
  additionalProperties: false,
}

/** The JSON Schema (draft 2020-12) of a catalog file, for editors and validators. */
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
      } satisfies Record<keyof CatalogProject, JsonSchema>,
      additionalProperties: false,
    },
    stores: { type: 'array', items: store },
  } satisfies Record<keyof Catalog, JsonSchema>,
  additionalProperties: false,
} as const
