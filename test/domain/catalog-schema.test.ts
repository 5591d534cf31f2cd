import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { CATALOG_SCHEMA, catalogItemFields, parseCatalog } from '../../lib/domain/catalog.ts'
import { parseAt } from '../../lib/domain/fields.ts'

const isValid = new Ajv2020().compile(CATALOG_SCHEMA)

/** Whether the catalog parser accepts a value. */
function isAccepted(catalog: unknown): boolean {
  const problems: never[] = []
  for (const { items = [] } of parseCatalog(catalog, problems).stores) {
    for (const item of items) parseAt(item, catalogItemFields, '$', problems)
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
  withItem({ name: 'gold', price: '4.99' }),
  withItem({ name: 'gold', archived: 'true' }),
  withItem({ name: 'gold', meta: {} }),
]

test('the schema and the rules accept the same catalogs', () => {
  const rows = [...good.map((each) => [each, true]), ...bad.map((each) => [each, false])]
  for (const [catalog, expected] of rows) {
    const shown = JSON.stringify(catalog).slice(0, 80)
    assert.deepEqual([isValid(catalog), isAccepted(catalog)], [expected, expected], shown)
  }
})
