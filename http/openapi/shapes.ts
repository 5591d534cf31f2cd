import type { JsonSchema } from '../../lib/index.ts'

export type Properties = { readonly [field: string]: JsonSchema }

export const text = { type: 'string' }
export const count = { type: 'integer', minimum: 0 }

/** A schema for each field of `T`, also for each optional one. */
export type Described<T> = { readonly [K in keyof Required<T>]: JsonSchema }

/** The schema of an object that has all of these fields and no others: all fields of `T`. */
export function exactly<T = Properties>(properties: Described<T>) {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }
}

/** Picks the named fields from `properties`. Returns the schema of an object with exactly these. */
export function pick(properties: Properties, ...fields: readonly string[]) {
  return exactly(Object.fromEntries(fields.map((field) => [field, properties[field] ?? {}])))
}

/** A reference to a schema of the document. */
export function ref(schema: string) {
  return { $ref: `#/components/schemas/${schema}` }
}
