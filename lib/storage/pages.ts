import { TillError } from '../errors.ts'
import type { Page, RecordPage, Storage, StoreKey } from './port.ts'

const PAGE = 1000

/** All purchases of a store, page by page. */
export function purchasePages(storage: Storage, store: StoreKey) {
  return pagesOf((page) => storage.listPurchases(store, {}, page))
}

/**
 * How much text the records of a page have together before it is full, in characters or bytes,
 * whichever a storage counts at no cost. One item, project or store may have some 70 KiB: a thousand
 * of them at once, for each read in flight, would be more than a server has.
 */
export const PAGE_TEXT = 1024 ** 2

/**
 * The first rows, until there are `limit` of them or their text is enough, and what `next` is when
 * there are more. Reads at most one row past them.
 */
export function fillPage<R>(
  rows: Iterable<R>,
  limit: number,
  textOf: (row: R) => number,
  cursorOf: (row: R) => unknown = (row) => (row as { readonly id?: unknown }).id,
): { readonly taken: R[]; readonly next?: string } {
  const taken: R[] = []
  let text = 0
  for (const row of rows) {
    if (taken.length === limit || text >= PAGE_TEXT) {
      return { taken, next: String(cursorOf(taken.at(-1) as R)) }
    }
    taken.push(row)
    text += textOf(row)
  }
  return { taken }
}

/** The same as records. Rows are small unless `textOf` measures them. */
export function recordPage<R, T>(
  rows: Iterable<R>,
  { limit }: Page,
  record: (row: R) => T,
  cursorOf: (row: R) => unknown,
  textOf: (row: R) => number = () => 0,
): RecordPage<T> {
  const { taken, next } = fillPage(rows, limit, textOf, cursorOf)
  return { records: taken.map(record), ...(next === undefined ? {} : { next }) }
}

/** For a list of a store that is not there, or not of the project that is named. */
export function storeNotFound(): TillError {
  return new TillError('store_not_found', 'No store has this store_id')
}

/** The pages of a list, one after the other. */
export async function* pagesOf<P extends { readonly next?: string }>(
  read: (page: Page) => Promise<P>,
): AsyncGenerator<P> {
  let after: string | undefined
  do {
    const page = await read(after === undefined ? { limit: PAGE } : { limit: PAGE, after })
    yield page
    after = page.next
  } while (after !== undefined)
}

/** The records of all pages of a list. No more than one page is in memory. */
export async function* recordsOf<T>(
  read: (page: Page) => Promise<RecordPage<T>>,
): AsyncGenerator<T> {
  for await (const { records } of pagesOf(read)) yield* records
}
