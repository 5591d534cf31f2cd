import type { Question } from '../../domain/explanation.ts'
import type { PurchaseField } from '../../domain/purchase.ts'
import type { LayoutFile } from '../layout-file.ts'
import type { Column } from './columns.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Questions in order of harm: a wrong answer to the first ones makes all rows wrong. */
const HARM = [
  'date_format',
  'decimal',
  'price_unit',
  'zone',
  'columns.transaction_id',
  'columns.price',
  'columns.sku',
  'currency',
  'columns.status',
  'statuses',
  'skip',
  'negative',
  'number_repeats',
  'columns.purchased_at',
] as const

const MAX_QUESTIONS = 5
/** At most this many columns or words are named in a question. */
export const MAX_NAMED = 5

/** A layout while it is composed. */
export interface Draft {
  readonly columns: Mutable<LayoutFile['columns']>
  readonly keys: Mutable<Omit<LayoutFile, 'columns'>>
  readonly remarks: string[]
  /** For each column that the layout reads: the field, and what its cells are. */
  readonly uses: Map<Column, { readonly field: PurchaseField; readonly seems: string }>
  use(field: PurchaseField, seems: string, columns: readonly Column[]): void
  /** `chosen` is what stands in the layout. */
  ask(about: (typeof HARM)[number], question: string, chosen: string): void
  /** The most harmful questions. Further ones are remarks. */
  end(): { readonly questions: readonly Question[]; readonly remarks: readonly string[] }
}

/** Creates an empty layout, to which each part of a file adds its keys and questions. */
export function createDraft(): Draft {
  const questions: (Question & { readonly about: (typeof HARM)[number] })[] = []
  const draft: Draft = {
    columns: { transaction_id: [] },
    keys: {},
    remarks: [],
    uses: new Map(),
    use(field, seems, columns) {
      for (const column of columns) draft.uses.set(column, { field, seems })
    },
    ask(about, question, chosen) {
      questions.push({ about, question, default: chosen })
    },
    end() {
      questions.sort((a, b) => HARM.indexOf(a.about) - HARM.indexOf(b.about))
      const further = questions.slice(MAX_QUESTIONS)
      return {
        questions: questions.slice(0, MAX_QUESTIONS),
        remarks: [
          ...draft.remarks,
          ...further.map(({ question, ...each }) => `${question} The layout has: ${each.default}.`),
        ],
      }
    },
  }
  return draft
}

/** Passes over the rows with some words of a column. */
export function skip({ keys }: Draft, { name }: Column, words: readonly string[]): void {
  keys.skip = { ...keys.skip, [name]: [...new Set([...(keys.skip?.[name] ?? []), ...words])] }
}

/** The names of columns, for a layout or a sentence. */
export function namesOf(columns: readonly Column[]): string | readonly string[] {
  const [first, ...others] = columns.map(({ name }) => name)
  return others.length === 0 ? (first ?? '') : columns.map(({ name }) => name)
}

/** `1 row`, `2 rows`. */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}

/** Joins the names of columns with `or`. */
export function orOf(columns: readonly Column[]): string {
  const names = columns.map(({ name }) => name)
  return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ')
}
