import type { InputOf } from './fields.ts'
import type { PurchaseStatus } from './purchase.ts'
import type { UnequalCount } from './repeat.ts'
import { boolean, note, optional, required, text, withSchema } from './rules.ts'

/**
 * The number of a file's rows with the same status and currency, and the sum of their prices. A
 * purchase and its refund are two rows if the file has both. A row without a price counts with the
 * price of its purchase.
 */
export interface ImportTotal {
  readonly status: PurchaseStatus
  /** The currency; '' for rows of purchases without a price. */
  readonly currency: string
  readonly rows: number
  /** The sum of prices in minor units, as a string of digits. */
  readonly total: string
}

/** The most groups in the totals of an import. A file can have 70,304: currencies are not checked. */
export const MAX_TOTALS = 100

/** The number of rows that the first totals leave out, as the field `others` if there are any. */
export function othersOf(
  rows: number | undefined,
  totals: readonly ImportTotal[] | undefined,
): { readonly others?: number } {
  // An import with `refundsOnly` counts rows but has no totals.
  if (rows === undefined || !totals || totals.length < MAX_TOTALS) return {}
  const others = rows - totals.reduce((sum, { rows }) => sum + rows, 0)
  return others > 0 ? { others } : {}
}

/** The reasons for which a row of a file is not imported, as texts for people. */
export const REASONS = {
  other_app: 'of other apps',
  other_environment: 'of the other environment (test or live)',
  no_sku: 'without a SKU',
  unpaid: 'not paid',
  partial_refund: 'partly refunded',
  left_out: 'left out by the SKU map',
  skipped: 'skipped by the layout',
  negative: 'with a negative amount',
  before_header: 'above the header line',
  // The next two are for `refundsOnly`.
  not_stored: 'without a stored purchase',
  not_later: 'whose status is not later',
  /** All further reasons together: these are apps, because the others are fewer than 20. */
  others: 'of other apps',
}

/** Why a row of a file is not imported. */
export interface PassedOver {
  /** `formatPassedOver` has the texts. `others` stands for all further reasons together. */
  readonly reason: keyof typeof REASONS
  /** The other app, cut to 64 characters. */
  readonly app?: string
}

/** The number of rows that are passed over for the same reason. */
export interface PassedOverCount extends PassedOver {
  readonly rows: number
}

/** The `layout` of the import that holds a recorded gift. */
export const GRANT = 'grant'

/** The details of an import, and of the file that was imported. */
export interface ImportDetails {
  /** The caller that made the import, in the format of `AuditEntry.actor`. */
  readonly actor: string
  /** The name of the file without its folder; '' if it is unknown. */
  readonly file_name: string
  readonly bytes: number
  /** The SHA-256 of the file, in hexadecimal. */
  readonly sha256: string
  /**
   * `canonical`, `layout` for a layout file, or the name of the preset. '' for a recorded purchase,
   * and `grant` for one that is a gift.
   */
  readonly layout: string
  /** The number of imported rows: the sum of `added`, `skipped` and `updated`. */
  readonly rows: number
  readonly added: number
  /** The number of rows that add nothing to a stored purchase or to an earlier row of the file. */
  readonly skipped: number
  /** The number of rows that advanced the status of a stored purchase, or filled what it lacked. */
  readonly updated: number
  /** The number of rows that were not imported. `rows` does not include them. */
  readonly passed_over: number
  /**
   * The file's rows by status and currency: at most 100 groups. Those without a price and those with
   * the most rows are kept.
   */
  readonly totals: readonly ImportTotal[]
  /** The time of the end of the import; ISO 8601, UTC. */
  readonly finished_at: string
}

/** The result of an import, and a summary of the file's rows. */
export interface ImportSummary
  extends Omit<ImportDetails, 'actor' | 'file_name' | 'bytes' | 'sha256' | 'finished_at'> {
  /** The number of rows in further groups, which `totals` leaves out. Missing if there are none. */
  readonly others?: number
  /** The earliest and the latest time of the rows; ISO 8601, UTC. Missing without rows. */
  readonly first_purchased_at?: string
  readonly last_purchased_at?: string
  /** The number of rows that equal an earlier row of the file. Neither `rows` nor `totals` have them. */
  readonly repeated: number
  /** The lines of the first 20 repeated rows. */
  readonly repeated_lines: readonly number[]
  /** The names of the file's columns that were not stored. */
  readonly ignored_columns: readonly string[]
  /** The number of rows that were passed over by reason, highest first. At most 20 reasons. */
  readonly passed_over_reasons: readonly PassedOverCount[]
  /**
   * How many rows have a value that the stored purchase has otherwise, or lacks although the caller
   * may not fill it. The stored value stays.
   */
  readonly unequal: readonly UnequalCount[]
  /** The preset whose columns the file has, if the file was read by a map without a preset. */
  readonly fitting_preset?: string
}

/** A finished import. It has no details if an earlier version of tillkit made it. */
export interface ImportRecord extends Partial<ImportDetails> {
  readonly import_id: string
  readonly store_id: string
  /** When the import started; ISO 8601, UTC. */
  readonly created_at: string
  /** The number of rows in further groups, which `totals` leaves out. Missing if there are none. */
  readonly others?: number
  /** When the import was undone. Absent if it was not undone. */
  readonly undone_at?: string
}

const MAX_FILE_NAME = 255

/** A rule for a path. Its result is the last part, cut to 255 characters, without controls. */
export const fileName = withSchema<string>({ type: 'string' }, (path, field, problems) => {
  if (typeof path !== 'string') {
    problems.push({ field, code: 'invalid', message: 'must be a string' })
    return ''
  }
  const last = path.toWellFormed().split(/[/\\]/).at(-1) as string
  return [...last.replace(/\p{Cc}/gu, '')].slice(0, MAX_FILE_NAME).join('')
})

export const undoFields = {
  import_id: required(text(1, 64)),
  /** Undoes even an import whose rows a later import skipped or filled; default false. */
  force: optional(note('Undoes even rows that a later file contained.', boolean), () => false),
}

export interface ImportUndoRequest extends InputOf<typeof undoFields> {}
