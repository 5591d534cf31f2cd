import { type JsonSchema, MAX_LAYOUT_BYTES, MAX_SKUS_BYTES, PRESET_NAMES } from '../../lib/index.ts'

export type Properties = { readonly [field: string]: JsonSchema }

export const text = { type: 'string' }
export const count = { type: 'integer', minimum: 0 }
export const time = { type: 'string', format: 'date-time' }

/** A schema for each field of `T`. The name of an optional field has a question mark at its end. */
type Described<T> = {
  readonly [K in keyof T & string as undefined extends T[K] ? `${K}?` : K]-?: JsonSchema
}

/** The schema of an object with all fields of `T` and no others. */
export function objectOf<T = Properties>(described: Described<T>) {
  const names = Object.keys(described)
  const entries = Object.entries(described).map(([name, schema]) => [name.replace('?', ''), schema])
  return {
    type: 'object',
    properties: Object.fromEntries(entries) as Properties,
    required: names.filter((name) => !name.endsWith('?')),
    additionalProperties: false,
  }
}

/** Picks the named fields from `properties`. Returns the schema of an object with exactly these. */
export function pick(properties: Properties, ...fields: readonly string[]) {
  return objectOf(Object.fromEntries(fields.map((field) => [field, properties[field] ?? {}])))
}

/** A reference to a schema of the document. */
export function ref(schema: string) {
  return { $ref: `#/components/schemas/${schema}` }
}

/** The parts of a form that imports a file, in both APIs. */
export const importParts = {
  file: { type: 'string', contentMediaType: 'text/csv', description: 'The CSV file.' },
  dry_run: {
    type: 'boolean',
    default: false,
    description: '`true` checks everything and stores nothing.',
  },
  preset: {
    type: 'string',
    enum: PRESET_NAMES,
    description: 'The vendor format, required only if tillkit does not recognise the file.',
  },
  layout: {
    type: 'string',
    contentMediaType: 'application/json',
    description: `A layout: JSON of up to ${MAX_LAYOUT_BYTES / 1024} KiB that describes the file.`,
  },
  skus: {
    type: 'string',
    contentMediaType: 'text/csv',
    description:
      `A CSV file of up to ${MAX_SKUS_BYTES / 1024} KiB that maps the SKUs of the vendor to ` +
      'items. Its columns are `vendor_sku` and `item`.',
  },
  undelivered: {
    type: 'boolean',
    default: false,
    description: '`true`: the purchases that the import adds must still be delivered.',
  },
  refunds_only: {
    type: 'boolean',
    default: false,
    description:
      '`true` only advances the statuses of stored purchases, and compares only the ids.',
  },
}

const next = {
  ...text,
  description: 'The `cursor` of the next page. Missing on the last page.',
}

/** The schema of one page of a list. */
export function page(name: string, schema: string) {
  return objectOf({ [name]: { type: 'array', items: ref(schema) }, 'next?': next })
}
