import { setImmediate } from 'node:timers/promises'
import type { ListPage, ListQuery } from '../../domain/query.ts'
import { TillError } from '../../errors.ts'
import type { ItemPage, Page, RecordPage, StoreKey } from './records.ts'

const PAGE = 1000

const CATALOG_PAGE = 100

/**
 * Reads all items of a store, page by page, including archived ones. Pages are small, because
 * reading a page blocks other requests.
 */
export function catalogPages(
  storage: { listItems(store: StoreKey, page: Page): Promise<ItemPage> },
  store: StoreKey,
) {
  let limit = CATALOG_PAGE
  return pagesOf(async (page) => {
    const read = await storage.listItems(store, { ...page, limit })
    const { length } = read.items
    if (read.next !== undefined && length < limit) limit = Math.ceil(length / 16) // large items
    return read
  })
}

/**
 * The most records that one page of a filtered list examines. SQLite needs about 40 ms for them.
 */
export const EXAMINED = 10_000

/**
 * A page ends once its records hold this much text, in characters or bytes depending on the
 * storage. An item, project or store may have 70 KiB. Without this limit, a page of 1,000 could
 * need 70 MiB for each read in flight.
 */
export const PAGE_TEXT = 1024 ** 2

/**
 * Takes rows until there are `limit` of them or their text reaches `PAGE_TEXT`. If more rows follow,
 * `next` is the cursor of the last row taken. Reads at most one row more than it takes.
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

/** Makes a page of records from rows. Without `textOf`, only `limit` ends the page. */
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

/** The error for listing a store that does not exist or is not in the given project. */
export function storeNotFound(): TillError {
  return new TillError('store_not_found', 'No store has this store_id')
}

/**
 * Reads the pages of a list one after the other. Lets the event loop run between two pages, because
 * a page from memory or cache resolves without I/O.
 */
export async function* pagesOf<P extends { readonly next?: string }>(
  read: (page: Page) => Promise<P>,
  limit = PAGE,
): AsyncGenerator<P> {
  let page = await read({ limit })
  yield page
  while (page.next !== undefined) {
    await setImmediate()
    page = await read({ limit, after: page.next })
    yield page
  }
}

/** Yields all entries of a list method, whose pages have them in the field `name`. */
export async function* listAll<N extends string, T>(
  list: (page: ListQuery) => Promise<{ readonly [F in N]: readonly T[] } & ListPage>,
  name: N,
): AsyncGenerator<T> {
  const read = ({ limit, after: cursor }: Page) => list({ limit, cursor })
  for await (const page of pagesOf(read)) yield* page[name]
}

/** Yields the records of all pages. Only one page is in memory at a time. */
export async function* recordsOf<T>(
  read: (page: Page) => Promise<RecordPage<T>>,
): AsyncGenerator<T> {
  for await (const { records } of pagesOf(read)) yield* records
}
