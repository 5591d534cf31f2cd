import type { Page, Storage, StoreKey } from './port.ts'

const PAGE = 1000

/** All purchases of a store, page by page. */
export function purchasePages(storage: Storage, store: StoreKey) {
  return pagesOf((page) => storage.listPurchases(store, {}, page))
}

/**
 * How much text the items of a page have together before it is full, in characters or bytes,
 * whichever a storage counts at no cost. One item may have some 70 KiB: a thousand of them at once,
 * for each read in flight, would be more than a server has.
 */
export const PAGE_TEXT = 1024 ** 2

/**
 * The first rows, until there are `limit` of them or their text is enough, and what `next` is when
 * there are more. One row past those is looked at, and no other.
 */
export function fillPage<R extends { readonly id?: unknown }>(
  rows: Iterable<R>,
  limit: number,
  textOf: (row: R) => number,
): { readonly taken: R[]; readonly next?: string } {
  const taken: R[] = []
  let text = 0
  for (const row of rows) {
    if (taken.length === limit || text >= PAGE_TEXT) {
      return { taken, next: taken.at(-1)?.id as string }
    }
    taken.push(row)
    text += textOf(row)
  }
  return { taken }
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
