/** A row as texts, which both databases read and write alike. */
export type CopiedRow = readonly (string | null)[]

export interface CopiedPage {
  /** Rows after this one, in the order of the table's key. */
  readonly after?: CopiedRow | undefined
  readonly limit: number
  /** Leaves out the idempotency records that have expired at this time. */
  readonly now: string
}
