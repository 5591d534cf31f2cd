import type { Call } from '../../../conformance/client.ts'
import { CREDENTIALS, endpointOf } from '../../../conformance/endpoints.ts'
import type { Till } from '../../../lib/index.ts'
import type { Parts } from '../server.ts'
import { createShop, fileOf } from '../till.ts'
import { type Operation, operations } from './document.ts'

type Shop = Awaited<ReturnType<typeof createManagedShop>>

/** The secret of the webhooks of a managed shop. */
export const SECRET = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ='

/** A shop with a record for each path parameter: an import, further keys, a webhook and a message. */
const JANUARY = { from: '2026-01-01', to: '2026-02-01' }

/** A shop with a record for each path parameter: an import, a second key, a webhook and a message. */
export async function createManagedShop(till: Till, name?: string) {
  const shop = await createShop(till, name)
  const { account, project, token } = shop
  const { key_id } = await till.accounts.addKey(account)
  const { key_id: changed_key_id } = await till.accounts.addKey(account)
  const game = { name: 'Second', bundle_id: 'com.example.second', platform: 'web' }
  const second = await till.projects.create(account, { ...game, account_id: account.account_id })
  const file = fileOf('transaction_id,sku,purchased_at\nT-0,gold,2026-01-31T12:00:00Z\n')
  const { import_id } = await till.purchases.import(account, { store_id: 'main', file })
  const sale = { store_id: 'main', sku: 'gold', purchased_at: '2026-01-31T12:00:00Z' }
  await till.purchases.record(account, { ...sale, transaction_id: 'R-0' })
  const config = { webhook_url: 'https://shop.example/old', webhook_secret: SECRET }
  await till.projects.update(account, { id: project.id, config })
  const store_config = { webhook_secret: SECRET, currency: 'USD' }
  await till.stores.update(account, { store_id: 'main', store_config })
  await till.webhooks.test(account, project.id)
  await till.outbox.claim()
  const { deliveries } = await till.webhooks.log(account, { endpoint_id: project.id })
  const webhook_id = deliveries[0]?.webhook_id ?? ''
  const session = await till.sessions.authenticate(token, 'projects:write')
  const proposal = { id: project.id, config: { webhook_url: 'https://shop.example/hook' } }
  await till.projects.update(session, proposal)
  return { ...shop, key_id, changed_key_id, second_project_id: second.id, import_id, webhook_id }
}

/** The example of an operation, with these ids in its path, query and body. */
export function exampleOf(operation: Operation, shop: Shop, ids = knownValues(shop)) {
  const { id, method, path, parameters, body } = operation
  // `GET /purchases` needs a `store_id` or a `transaction_id`.
  const also = id === 'listPurchases' ? 'store_id' : undefined
  const needed = parameters.filter((each) => {
    return each.in === 'query' && (each.required || each.name === also)
  })
  const query = new URLSearchParams(
    Object.fromEntries(needed.map(({ name }) => [name, String(ids[name])])),
  )
  const idIn = (name: string) => {
    // Requests that would take the credentials of others.
    if (id === 'changeKey' && ids.key_id === shop.key_id) return shop.changed_key_id
    if (id === 'revokeUserTokens' && name === 'user_id') return 'player-9'
    if (id === 'revokeProjectTokens' && ids.project_id === shop.project_id) {
      return shop.second_project_id
    }
    return String(ids[path.startsWith('/manage/v1/items/') ? 'item_id' : name])
  }
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(idIn(name)))
  const line = `${method} ${target}${query.size > 0 ? `?${query}` : ''}`
  const credential = credentialOf(operation, shop)
  if (!body) return { line, parts: credential }
  if (body.type !== 'application/json') {
    const parts = { ...knownValues(shop), ...ids, ...(id === 'reconcilePurchases' ? JANUARY : {}) }
    return { line, parts: { ...credential, body: formOf(parts) } }
  }
  const others: { [id: string]: object } = {
    createStore: { store_id: 'new' },
    addStore: { store_id: 'newer' },
    addItem: { name: 'axe' },
    deliverPurchases: { transaction_id: 'R-0' },
    refundPurchases: { transaction_id: 'R-0' },
  }
  const values: { [field: string]: unknown } = { ...ids, ...others[id] }
  const json = Object.entries(body.example as object).map(([field, value]) => {
    return [field, values[field] ?? value]
  })
  return { line, parts: { ...credential, json: Object.fromEntries(json) } }
}

/** The right credential of an operation. */
function credentialOf({ scheme }: Operation, { account, project, token }: Shop): Parts {
  if (scheme === 'publicKey') return { public_key: project.public_key }
  if (scheme === 'accountKey') return { account_key: account.account_key }
  return scheme === 'token' ? { token } : {}
}

/** A form with a part for each field. `file` is sent as a file. */
function formOf({ file, ...fields }: { readonly [name: string]: string }): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries({ other: 'x', ...fields })) form.append(name, value)
  if (file !== undefined) form.append('file', new Blob([file]), 'purchases.csv')
  return form
}

/** Values that exist in the shop, by the names of fields and parameters. */
export function knownValues({ account, project, item, key_id, import_id, webhook_id }: Shop): {
  readonly [name: string]: string
} {
  return {
    ...{ account_id: account.account_id, webhook_id },
    project_id: project.id,
    id: project.id,
    store_id: 'main',
    item_id: item.id,
    ...{ key_id, import_id, endpoint_id: project.id, user_id: 'player-1', sku: item.name },
    public_key: project.public_key,
    cursor: item.id,
    file: 'transaction_id,sku,purchased_at\nT-1,gold,2026-01-31T12:00:00Z\n',
    'If-None-Match': '*',
  }
}

/** The operation of the endpoint with this number. */
export function operationOf(number: number): Operation {
  const { method, path } = endpointOf(number)
  return operations.find((each) => each.method === method && each.path === path) as Operation
}

/** The request of a conformance row. */
export function requestOf(number: number, call: Call): { line: string; parts: Parts } {
  const { method, path, credential: kind } = endpointOf(number)
  const { item_id = '', query = '', credential, json, text, form } = call
  const { header, prefix } = CREDENTIALS[kind]
  const body = form ? formOf(form) : text
  const parts = {
    headers: {
      ...(credential ? { [header]: prefix + credential.value } : {}),
      ...(json !== undefined || text !== undefined ? { 'content-type': 'application/json' } : {}),
    },
    ...(json === undefined ? {} : { json }),
    ...(body === undefined ? {} : { body }),
  }
  return { line: `${method} ${path.replace('{item_id}', item_id)}${query}`, parts }
}
