import { freeForm, type JsonSchema, objectSchema, wholeNumber } from './fields.ts'
import { newItemFields } from './item.ts'
import { newProjectFields, projectChangeFields } from './project.ts'
import { itemQueryFields } from './query.ts'
import { sessionFields } from './session.ts'
import { newStoreFields, STORE_TYPES } from './store.ts'

type Properties = { readonly [field: string]: JsonSchema }

/**
 * The JSON Schemas (draft 2020-12) of the inputs of the API, and of the fields of its records. They
 * come from the rules that validate the inputs.
 */
export function createSchemas() {
  const { meta, ...item } = propertiesOf(newItemFields)
  const store = propertiesOf(newStoreFields.custom)
  const id = { type: 'string', minLength: 1, maxLength: 64 }
  return {
    inputs: {
      SessionRequest: objectSchema(sessionFields),
      NewItem: objectSchema(newItemFields),
      ItemQuery: objectSchema(itemQueryFields),
      NewProject: objectSchema(newProjectFields),
      ProjectChange: objectSchema(projectChangeFields),
      NewWebStore: objectSchema(newStoreFields.web),
      NewIapStore: objectSchema(newStoreFields.iap),
      NewCustomStore: objectSchema(newStoreFields.custom),
    },
    records: {
      item: {
        ...item,
        id,
        price: {
          ...wholeNumber(0, Number.MAX_SAFE_INTEGER).schema,
          description: 'Minor currency units: `499` is 4.99 USD.',
        },
        metadata: meta as JsonSchema,
      },
      project: { ...propertiesOf(newProjectFields), id, public_key: { type: 'string' } },
      store: {
        ...store,
        store_type: { type: 'string', enum: STORE_TYPES },
        store_config: freeForm.schema,
      },
    } satisfies { readonly [record: string]: Properties },
  }
}

/** The schemas of the fields without defaults and descriptions, which are about inputs. */
function propertiesOf<T extends Parameters<typeof objectSchema>[0]>(fields: T) {
  const entries = Object.entries(fields).map(([field, { schema }]) => {
    const { default: _, description, ...rest } = schema
    return [field, rest]
  })
  return Object.fromEntries(entries) as { readonly [F in keyof T]: JsonSchema }
}
