import type { Page, Storage, StoreKey } from './port.ts'

const PAGE = 1000

/** All purchases of a store, page by page. */
export function purchasePages(storage: Storage, store: StoreKey) {
  return pagesOf((page) => storage.listPurchases(store, {}, page))
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
