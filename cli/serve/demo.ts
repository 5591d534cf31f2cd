import type { Account, Till } from '../../lib/index.ts'
import { BUNDLE_ID, googlePlayReport, ITEMS, SKU_MAP, webStoreFile } from './demo-shop.ts'

/** The ids and keys of the demo's records. */
type Demo = NonNullable<Awaited<ReturnType<typeof createDemo>>>

const WEB_STORE = 'demo'
const PLAY_STORE = 'google-play'

/**
 * Creates an account and a project with the stores and items of a generated shop. Returns undefined
 * when accounts already exist.
 */
export async function createDemo(till: Till) {
  const { accounts } = await till.accounts.list({ limit: 1 })
  if (accounts.length > 0) return undefined
  const account = await till.accounts.create({ name: 'Demo' })
  const { account_id, account_key } = account
  const project = await till.projects.create(account, {
    name: 'Demo Game',
    bundle_id: BUNDLE_ID,
    platform: 'mobile',
  })
  await createDemoStores(till, account, project.id)
  const { id: project_id, public_key } = project
  return { account_id, account_key, project_id, public_key, store_id: WEB_STORE }
}

/** Creates a web store and a Google Play store with the same items. */
export async function createDemoStores(till: Till, account: Account, project_id: string) {
  const store_config = { currency: 'USD' }
  const stores = [
    { store_id: WEB_STORE, store_type: 'web', store_config },
    { store_id: PLAY_STORE, store_type: 'iap', store_config },
  ] as const
  for (const store of stores) await till.stores.create(account, { project_id, ...store })
  // In one transaction, which takes less time than 24.
  const catalog = { stores: stores.map(({ store_id }) => ({ store_id, items: ITEMS })) }
  await till.catalog.apply(account, { project_id, catalog })
}

/**
 * Imports 2,000 purchases of 14 months into the stores of `createDemoStores`, so that the console
 * has charts. This takes half of the CPU time of the start.
 */
export async function importDemoSales(till: Till, account: Account, now: number) {
  const google = googlePlayReport({ now, purchases: 1_000 })
  const report = { store_id: PLAY_STORE, file: google, fileName: 'google-play-sales.csv' }
  await till.purchases.import(account, { ...report, skus: SKU_MAP })
  const web = webStoreFile({ now, purchases: 1_000 })
  await till.purchases.import(account, {
    store_id: WEB_STORE,
    file: web,
    fileName: 'web-store.csv',
  })
}

/** Formats the demo's keys, and shell commands that call the API with them. */
export function formatDemo(demo: Demo, url: string): string {
  const api = `${url}/api/v1`
  return `
A demo account with a project, two stores, items and sales is created. Its keys are shown only once:

  account key   ${demo.account_key}
  public key    ${demo.public_key}

Try it: paste each of these into another terminal.

Start a session:

TOKEN=$(curl -s ${api}/identity/auth/init \\
  -H 'x-public-project-key: ${demo.public_key}' \\
  -H 'content-type: application/json' \\
  -d '{"user_id":"player-1"}' | grep -o '"token":"[^"]*' | cut -d'"' -f4)

List the items:

curl "${api}/items?store_id=${demo.store_id}" -H "authorization: Bearer $TOKEN"

Create one:

curl ${api}/items \\
  -H 'x-account-key: ${demo.account_key}' \\
  -H 'content-type: application/json' \\
  -d '{"store_id":"${demo.store_id}","name":"shield","display_name":"Shield","price":"250","type":"consumable"}'

Import past purchases:

printf 'transaction_id,sku,purchased_at,price\\nT-1,gold_100,2026-01-31T12:00:00Z,499\\n' |
  curl ${api}/purchases/import -H "authorization: Bearer $TOKEN" \\
    -F store_id=${demo.store_id} -F 'file=@-;filename=purchases.csv'
`
}
