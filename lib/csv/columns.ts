import type { PurchaseField } from '../domain/purchase.ts'
import type { Format } from './format.ts'
import { normalize } from './text.ts'

/** The names of a file's columns. */
export interface ColumnNames {
  readonly names: readonly string[]
  /**
   * The indexes of the columns with a name, in any case. If there is none, of those whose names
   * differ only in blanks, underscores and capitals: `Transaction ID`, `transactionId`.
   */
  find(column: string): readonly number[]
  /** The indexes of the columns with a name, in any case. */
  findExact(column: string): readonly number[]
}

/** Reads the names of the columns from a header line. */
export function createColumnNames(header: readonly string[]): ColumnNames {
  const names = header.map(normalize)
  const looseNames = names.map(loosen)
  const indexes = (all: readonly string[], wanted: string) =>
    all.flatMap((name, at) => (name === wanted ? [at] : []))
  const findExact = (column: string) => indexes(names, normalize(column))
  return {
    names,
    findExact,
    find(column) {
      const exact = findExact(column)
      const loose = loosen(normalize(column))
      return exact.length > 0 || loose === '' ? exact : indexes(looseNames, loose)
    },
  }
}

function loosen(name: string): string {
  return name.replace(/[\s_]/g, '')
}

/** Whether a header has all the columns that a format needs. */
export function hasNeeded(header: readonly string[], { needed = [] }: Format): boolean {
  const { find } = createColumnNames(header)
  return needed.every(([column]) => find(column).length > 0)
}

/** The indexes of each field's columns. A field with more than one column is an error. */
export type Found = { readonly [F in PurchaseField]?: readonly number[] }

/**
 * Finds the columns of each field. `mapped` has the fields whose columns a map gives: those are not
 * columns of other fields of the canonical format. A loose match counts only for a field without an
 * exact column.
 */
export function findColumns(
  { find, findExact }: ColumnNames,
  { columns, isUnambiguous }: Format,
  mapped: readonly PurchaseField[],
): Found {
  const entries = Object.entries(columns) as [PurchaseField, string | readonly string[]][]
  const given = entries.filter(([field]) => mapped.includes(field))
  const taken = new Set(
    isUnambiguous ? given.flatMap(([, names]) => [names].flat().flatMap(find)) : [],
  )
  const search = (
    [field, names]: (typeof entries)[number],
    findOne: ColumnNames['find'],
  ): readonly number[] => {
    const isFree = (at: number) => !taken.has(at) || mapped.includes(field)
    const matches = [names].flat().map((name) => findOne(name).filter(isFree))
    const first = matches.find((found) => found.length > 0) ?? []
    return isUnambiguous ? [...new Set(matches.flat())].sort((a, b) => a - b) : first
  }
  const exact = entries.map((entry) => search(entry, findExact))
  // An exact column of one field is no loose match of another one.
  if (isUnambiguous) for (const at of exact.flat()) taken.add(at)
  const found = entries.map((entry, i): [PurchaseField, readonly number[]] => {
    const own = exact[i] as readonly number[]
    return [entry[0], own.length > 0 ? own : search(entry, find)]
  })
  return Object.fromEntries(found.filter(([, positions]) => positions.length > 0))
}
