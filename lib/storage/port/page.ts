/** A page to read. `after` is the `next` of the previous page, from the same storage. */
export interface Page {
  readonly limit: number
  readonly after?: string
}

/** A page to read from a list with a filter. */
export interface FilteredPage extends Page {
  /** The maximum number of records to examine; default 10,000. */
  readonly examine?: number
  /** Whether the last record comes first. */
  readonly newestFirst?: boolean | undefined
}

export interface RecordPage<T> {
  /** At most `limit` records. A page may have fewer even if it is not the last. */
  readonly records: readonly T[]
  /** The cursor of the next page; missing on the last page. */
  readonly next?: string
}
