import type { JsonObject } from '../lib/index.ts'
import { escapeLines } from './text.ts'

interface TypedStore {
  readonly store_id: string
  readonly items: AsyncIterable<TypedItem> | Iterable<TypedItem>
}

interface TypedItem {
  readonly name: string
  readonly metadata?: JsonObject | undefined
}

/** Formats a catalog as TypeScript. The same items have the same text, in any order. */
export async function formatCatalogTypes(stores: AsyncIterable<TypedStore>): Promise<string> {
  const listed: [name: string, type: string][] = []
  for await (const { store_id, items } of stores) {
    const types: [name: string, type: string][] = []
    for await (const { name, metadata = {} } of items) types.push([name, typeOfObjects([metadata])])
    listed.push([store_id, formatMembers(types, '    ')])
  }
  return `${HEAD}${formatMembers(listed, '  ')}\n${TAIL}`
}

const HEAD = `// Written by \`tillkit catalog types\`. Do not edit.

/** The metadata of each item, by store and SKU. */
export interface Catalog `

const TAIL = `
/** The id of a store. */
export type Store = keyof Catalog

/** The SKU of an item of any store, or of one: \`Sku<'main'>\`. */
export type Sku<S extends Store = Store> = S extends Store ? keyof Catalog[S] : never

/** The metadata of an item in any store, or in one: \`Metadata<'sword', 'main'>\`. */
export type Metadata<K extends Sku, S extends Store = Store> = S extends Store
  ? K extends Sku<S>
    ? Catalog[S][K]
    : never
  : never
`

/** Formats the members of an object type, sorted by name, one a line. */
function formatMembers(members: readonly (readonly [string, string])[], indent: string): string {
  const lines = sorted(members).map(([name, type]) => `${indent}${formatName(name)}: ${type}\n`)
  return lines.length > 0 ? `{\n${lines.join('')}${indent.slice(2)}}` : '{}'
}

function sorted<V>(entries: Iterable<readonly [string, V]>): (readonly [string, V])[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** The type of objects. A field that only some of them have is optional. */
function typeOfObjects(objects: readonly JsonObject[]): string {
  const fields = new Map<string, unknown[]>()
  for (const [name, value] of objects.flatMap((each) => Object.entries(each))) {
    const values = fields.get(name)
    if (values) values.push(value)
    else fields.set(name, [value])
  }
  const rows = sorted(fields).map(([name, values]) => {
    const mark = values.length < objects.length ? '?' : ''
    return `${formatName(name)}${mark}: ${typeOf(values)}`
  })
  return rows.length > 0 ? `{ ${rows.join('; ')} }` : '{}'
}

/** The type of JSON values. */
function typeOf(values: readonly unknown[]): string {
  const arrays: unknown[][] = []
  const objects: JsonObject[] = []
  const names = new Set<string>()
  for (const value of values) {
    if (Array.isArray(value)) arrays.push(value)
    else if (value === null) names.add('null')
    else if (typeof value === 'object') objects.push(value as JsonObject)
    else names.add(typeof value)
  }
  const types = [...names].sort()
  if (arrays.length > 0) {
    const entry = typeOf(arrays.flat()) || 'unknown'
    types.unshift(entry.includes(' | ') ? `(${entry})[]` : `${entry}[]`)
  }
  if (objects.length > 0) types.unshift(typeOfObjects(objects))
  return types.join(' | ')
}

function formatName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : escapeLines(JSON.stringify(name))
}
