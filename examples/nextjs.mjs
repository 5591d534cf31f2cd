// Next.js: app/shop/[...path]/route.js. In next.config.js: serverExternalPackages: ['tillkit'].
// npx next dev
import { createTill, openSqliteStorage } from 'tillkit'
import { createFetchHandler } from 'tillkit/http'

// In development Next.js loads this file again after each change, but keeps `globalThis`.
globalThis.shop ??= openShop()

async function openShop() {
  const till = createTill({ storage: await openSqliteStorage('shop.db') })
  return createFetchHandler(till, { basePath: '/shop' })
}

const handle = async (request) => (await globalThis.shop)(request)
export const dynamic = 'force-dynamic'
export { handle as GET, handle as HEAD, handle as OPTIONS, handle as POST, handle as PUT }
