import type { NewItem, Till } from '../lib/index.ts'

/** The ids and keys of the demo's records. */
export interface Demo {
  readonly account_id: string
  readonly account_key: string
  readonly project_id: string
  readonly public_key: string
  readonly store_id: string
}

const STORE_ID = 'demo'

const ITEMS: readonly Omit<NewItem, 'store_id'>[] = [
  { name: 'gold_100', display_name: '100 Gold', price: '499', type: 'consumable' },
  { name: 'potion', display_name: 'Healing Potion', price: '99', type: 'consumable' },
  { name: 'skin_dragon', display_name: 'Dragon Skin', price: '1299', type: 'non_consumable' },
  { name: 'season_pass', display_name: 'Season Pass', price: '999', type: 'subscription' },
]

/**
 * Creates an account, a project, a store and items. Returns undefined when accounts already exist.
 */
export async function createDemo(till: Till): Promise<Demo | undefined> {
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
  const { id: project_id, public_key } = project
  return { account_id, account_key, project_id, public_key, store_id: STORE_ID }
}

/** Formats the demo's keys, and shell commands that call the API with them. */
export function formatDemo(demo: Demo, url: string): string {
  const api = `${url}/api/v1`
  return `
A demo account with a project, a store and items was created. Its keys are shown only once:

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
