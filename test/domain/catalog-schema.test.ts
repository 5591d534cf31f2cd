import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCatalog, parseCatalogItem } from '../../lib/domain/catalog.ts'
import { CATALOG_SCHEMA } from '../../lib/domain/catalog-schema.ts'

interface Schema {
  readonly [keyword: string]: unknown
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
}

const NOTES = ['$schema', 'title', 'description']
const KEYWORDS = [
  ...['type', 'enum', 'pattern', 'minLength', 'maxLength', 'properties', 'required'],
  ...['additionalProperties', 'items', 'oneOf', ...NOTES],
]

/** Whether a value is valid, by the keywords of JSON Schema that the schema of catalogs uses. */
function isValid(value: unknown, schema: Schema): boolean {
  const unknown = Object.keys(schema).filter((keyword) => !KEYWORDS.includes(keyword))
  assert.deepEqual(unknown, [])
  if (schema.enum && !schema.enum.includes(value)) return false
  if (schema.oneOf && schema.oneOf.filter((each) => isValid(value, each)).length !== 1) return false
  const kind = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  if (schema.type && schema.type !== kind) return false
  if (typeof value === 'string') {
    const { pattern = '', minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema
    const { length } = [...value]
    return new RegExp(pattern, 'u').test(value) && length >= minLength && length <= maxLength
  }
  if (Array.isArray(value)) return value.every((each) => isValid(each, schema.items ?? {}))
  if (kind !== 'object') return true
  const object = value as { readonly [name: string]: unknown }
  const { properties = {}, required = [], additionalProperties = true } = schema
  return (
    required.every((name) => name in object) &&
    Object.entries(object).every(([name, member]) => {
      const property = properties[name]
      return property ? isValid(member, property) : additionalProperties
    })
  )
}

/** Whether the catalog parser accepts a value. */
function isAccepted(catalog: unknown): boolean {
  const problems: never[] = []
  for (const { items } of parseCatalog(catalog, problems).stores) {
    for (const item of items) parseCatalogItem(item, '$', problems)
  }
  return problems.length === 0
}

const withItem = (item: unknown) => ({ stores: [{ store_id: 'main', items: [item] }] })

const good: unknown[] = [
  {},
  { $schema: './catalog.schema.json', project: {}, stores: [] },
  { project: { id: 'prj_1', name: 'Game', dlscheme: '', config: { custom_settings: {} } } },
  { stores: [{ store_id: 'main', store_type: 'web', is_sandbox: true, store_config: {} }] },
  withItem({ name: 'gold' }),
  withItem({ name: 'g', display_name: '\u{1F600}'.repeat(255), price: '0', type: 'subscription' }),
  withItem({ name: 'gold', description: '', metadata: { a: [1] }, archived: false }),
]

const bad: unknown[] = [
  [],
  null,
  { project: 1 },
  { projects: {} },
  { project: { name: '' } },
  { stores: {} },
  { stores: [{}] },
  { stores: [{ store_id: 'a b' }] },
  { stores: [{ store_id: 'main', store_type: 'shop' }] },
  { stores: [{ store_id: 'main', items: {} }] },
  withItem('gold'),
  withItem({}),
  withItem({ name: 'a b' }),
  withItem({ name: 'gold', price: 499 }),
  withItem({ name: 'gold', price: '4.99' }),
  withItem({ name: 'gold', display_name: 'x'.repeat(256) }),
  withItem({ name: 'gold', type: 'gem' }),
  withItem({ name: 'gold', metadata: [] }),
  withItem({ name: 'gold', archived: 'true' }),
  withItem({ name: 'gold', meta: {} }),
]

for (const catalog of good) {
  test(`the schema and the rules accept ${JSON.stringify(catalog).slice(0, 80)}`, () => {
    assert.deepEqual([isValid(catalog, CATALOG_SCHEMA), isAccepted(catalog)], [true, true])
  })
}

for (const catalog of bad) {
  test(`the schema and the rules reject ${JSON.stringify(catalog).slice(0, 80)}`, () => {
    assert.deepEqual([isValid(catalog, CATALOG_SCHEMA), isAccepted(catalog)], [false, false])
  })
}
