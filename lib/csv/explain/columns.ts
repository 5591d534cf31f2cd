import { trimBlanks } from '../../domain/blanks.ts'
import { excerpt } from '../../errors.ts'
import { KINDS, type Kind } from './kinds.ts'
import { type Concept, conceptsOf } from './words.ts'

/** The first rows of a file, each as wide as the header. */
export interface Table {
  /** The names of the columns, trimmed. */
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** The findings about a column, from its name and its cells. */
export interface Column {
  readonly at: number
  readonly name: string
  readonly concepts: ReadonlySet<Concept>
  /** The kind of nearly all cells; `text` if they have no other. */
  readonly kind: Kind
  /** How many rows have a cell that is not empty. */
  readonly filled: number
  /** How many different cells there are. */
  readonly distinct: number
  /** The share of the different cells that are SKUs of the store, and that are names of its items. */
  readonly skus: number
  readonly names: number
  /** The first three different cells, cut. */
  readonly samples: readonly string[]
  /** Each cell with its number of rows, if there are few different ones. */
  readonly words: ReadonlyMap<string, number> | undefined
}

/** The items of the store. */
export interface Items {
  /** The names and ids of the items, each with the price. */
  readonly skus: ReadonlyMap<string, number>
  readonly display_names: ReadonlySet<string>
}

/** The store's items, currency and kind, if a store is named. */
export interface Shop {
  readonly items: Items
  readonly currency?: string | undefined
  readonly is_sandbox?: boolean
}

/** Longer cells are no values of a purchase. */
const MAX_CELL = 255
const MAX_WORDS = 40
const MAX_SAMPLE = 40
const SAMPLES = 3

/** The cell of a row in a column, trimmed as an import does. */
export function cellOf(row: readonly string[], at: number): string {
  return trimBlanks(row[at] ?? '')
}

/** Examines the cells of a column. Takes some milliseconds for 10,000 rows. */
export function examineColumn({ header, rows }: Table, at: number, items: Items): Column {
  const counts = new Map<string, number>()
  let filled = 0
  for (const row of rows) {
    const cell = cellOf(row, at)
    if (cell === '') continue
    filled++
    const value = cell.length > MAX_CELL ? LONG : cell
    counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const values = [...counts.keys()]
  const share = (isOne: (value: string) => boolean) =>
    values.length === 0 ? 0 : values.filter(isOne).length / values.length
  const name = header[at] ?? ''
  return {
    at,
    name,
    concepts: conceptsOf(name),
    kind: filled === 0 ? 'empty' : kindOf(counts, filled),
    filled,
    distinct: values.length,
    skus: share((value) => items.skus.has(value)),
    names: share((value) => items.display_names.has(value)),
    samples: values.slice(0, SAMPLES).map((value) => excerpt(value, MAX_SAMPLE)),
    words: values.length > 0 && values.length <= MAX_WORDS ? counts : undefined,
  }
}

/** Stands for all cells that are too long. */
const LONG = '…'.repeat(MAX_CELL)

/** One row in 50 may be a total or a remark. */
const OTHERS = 0.02

function kindOf(counts: ReadonlyMap<string, number>, filled: number): Kind {
  for (const { kind, fits } of KINDS) {
    let others = 0
    for (const [value, count] of counts) {
      if (!fits(value)) others += count
      if (others > OTHERS * filled) break
    }
    if (others <= OTHERS * filled) return kind
  }
  return 'text'
}
