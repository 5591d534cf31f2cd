import type { PurchaseField } from './purchase.ts'

/** The likely meaning of a column. */
export interface ExplainedColumn {
  /** The name, cut to 64 characters. */
  readonly column: string
  /** The field that the layout reads from it. */
  readonly field?: PurchaseField
  /** The kind of its cells, for people: `date, DD/MM/YYYY`. */
  readonly seems: string
  /** Up to three different cells, cut to 40 characters. */
  readonly samples: readonly string[]
}

/** Something that the file cannot tell. */
export interface Question {
  /** The key of the layout, or the field, that the answer is about. */
  readonly about: string
  readonly question: string
  /** The answer in the layout. */
  readonly default: string
}

/** The findings of `explain` about a file, without the layout that it proposes. */
export interface ExplainedFile {
  /** The format that reads the file: a preset's name, `canonical`, or the proposed `layout`. */
  readonly format: string
  /** The line of the header. */
  readonly header_line: number
  /** How many rows were examined. */
  readonly rows: number
  /** Whether the file has more rows. */
  readonly is_partial: boolean
  readonly columns: readonly ExplainedColumn[]
  /** The required fields for which no column was found, each with the reason. */
  readonly missing?: readonly { readonly field: PurchaseField; readonly reason: string }[]
  /** At most five, in order of harm. */
  readonly questions: readonly Question[]
  /** Further remarks for people, before an import. */
  readonly remarks: readonly string[]
}
