import type { NewItem, Till } from '../../lib/index.ts'

/** The ids and keys of the demo's records. */
type Demo = NonNullable<Awaited<ReturnType<typeof createDemo>>>

const STORE_ID = 'demo'

const ITEMS: readonly Omit<NewItem, 'store_id'>[] = [
  { name: 'gold_100', display_name: '100 Gold', price: '499', type: 'consumable' },
  { name: 'potion', display_name: 'Healing Potion', price: '99', type: 'consumable' },
  { name: 'skin_dragon', display_name: 'Dragon Skin', price: '1299', type: 'non_consumable' },
  { name: 'season_pass', display_name: 'Season Pass', price: '999', type: 'subscription' },
]

const SALES = 2_000
const DAY_MS = 86_400_000

/**
 * Creates an account, a project, a store, items and sales of the past year, so that the console has
 * charts. Returns undefined when accounts already exist.
 */
export async function createDemo(till: Till, now: number) {
  const { accounts } = await till.accounts.list({ limit: 1 })
  if (accounts.length > 0) return undefined
  const account = await till.accounts.create({ name: 'Demo' })
  const { account_id, account_key } = account
  const project = await till.projects.create(account, {
    name: 'Demo Game',
    bundle_id: 'com.example.demo',
    platform: 'mobile',
  })
  await till.stores.create(account, {
    project_id: project.id,
    store_id: STORE_ID,
    store_type: 'web',
    store_config: { currency: 'USD' },
  })
  for (const item of ITEMS) await till.items.create(account, { store_id: STORE_ID, ...item })
  const file = [Buffer.from(createSales(now))]
  await till.purchases.import(account, { store_id: STORE_ID, file, fileName: 'demo.csv' })
  const { id: project_id, public_key } = project
  return { account_id, account_key, project_id, public_key, store_id: STORE_ID }
}

/** A purchase file of the past year. Sales grow, and cheap items sell more often. */
function createSales(now: number): string {
  let seed = 1
  // The generator of Park and Miller: each demo has the same sales.
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const rows = Array.from({ length: SALES }, (_, i) => {
    const at = new Date(now - 365 * DAY_MS * (1 - random() ** 0.7)).toISOString()
    const { name, price } = ITEMS[Math.floor(ITEMS.length * random() ** 1.5)] as NewItem
    const currency = random() < 0.3 ? 'EUR' : 'USD'
    const user = 1_000 + Math.floor(700 * random() ** 1.5)
    const status = i % 37 === 0 ? 'refunded' : i % 41 === 0 ? 'pending' : 'purchased'
    return [`demo-${i + 1}`, name, at, `player-${user}`, price, currency, status].join()
  })
  return ['transaction_id,sku,purchased_at,user_id,price,currency,status', ...rows].join('\n')
}

/** Formats the demo's keys, and shell commands that call the API with them. */
export function formatDemo(demo: Demo, url: string): string {
  const api = `${url}/api/v1`
  return `
A demo account with a project, a store, items and sales was created. Its keys are shown only once:

  account key   ${demo.account_key}
  public key    ${demo.public_key}

Try it: paste these into another terminal.

# start a session
TOKEN=$(curl -s ${api}/identity/auth/init \\
  -H 'x-public-project-key: ${demo.public_key}' \\
  -H 'content-type: application/json' \\
  -d '{"user_id":"player-1"}' | grep -o '"token":"[^"]*' | cut -d'"' -f4)

# list the items
curl "${api}/items?store_id=${demo.store_id}" -H "authorization: Bearer $TOKEN"

# create one
curl ${api}/items \\
  -H 'x-account-key: ${demo.account_key}' \\
  -H 'content-type: application/json' \\
  -d '{"store_id":"${demo.store_id}","name":"shield","display_name":"Shield","price":"250","type":"consumable"}'

# import past purchases
printf 'transaction_id,sku,purchased_at,price\\nT-1,gold_100,2026-01-31T12:00:00Z,499\\n' |
  curl ${api}/purchases/import -H "authorization: Bearer $TOKEN" \\
    -F store_id=${demo.store_id} -F 'file=@-;filename=purchases.csv'
`
}
