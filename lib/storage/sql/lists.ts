import { setImmediate } from 'node:timers/promises'
import type { ListPage, ListQuery } from '../../domain/query.ts'
import type { ItemPage, Page, RecordPage } from './records.ts'

const PAGE = 1000

const CATALOG_PAGE = 100

/**
 * Reads all items of a store, page by page, including archived ones. Pages are small, because
 * reading a page blocks other requests. The first one begins after the id `''`, because without an
 * `after` it would have a revision, which counts all items.
 */
export function catalogPages(listItems: (page: Page) => Promise<ItemPage>) {
  let limit = CATALOG_PAGE
  return pagesOf(async (page) => {
    const read = await listItems({ after: '', ...page, limit })
    const { length } = read.items
    if (read.next !== undefined && length < limit) limit = Math.ceil(length / 16) // large items
    return read
  })
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
