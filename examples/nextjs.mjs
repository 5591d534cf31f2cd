// Next.js: app/shop/[...path]/route.js. In next.config.js: serverExternalPackages: ['tillkit'].
import { createMemoryStorage, createTill } from 'tillkit'
import { createFetchHandler } from 'tillkit/http'

// In development Next.js loads this file again after each change, but keeps `globalThis`.
globalThis.shop ??= createShop()

function createShop() {
  const till = createTill({ storage: createMemoryStorage() }) // or await openPostgresStorage(…)
  return { till, handler: createFetchHandler(till, { basePath: '/shop' }) }
}

const handle = (request) => globalThis.shop.handler(request)
export const dynamic = 'force-dynamic'
export { handle as GET, handle as HEAD, handle as OPTIONS, handle as POST, handle as PUT }
