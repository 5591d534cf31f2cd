// The examples of docs/library.md, as one program. `// → value` is the value of the expression.

// ## Open a till
import {
  createManageSchemas,
  createMemoryStorage,
  createSchemas,
  createTill,
  openSqliteStorage,
  readCatalog,
  TillError,
} from 'tillkit'

const till = createTill({ storage: await openSqliteStorage('till.db'), tokenLifetime: 3_600_000 })

// ## Accounts
const { account_key, ...account } = await till.accounts.create({ name: 'Studio' })
const caller = await till.accounts.authenticate(account_key)
caller.account_id === account.account_id // → true

// ## Projects
const project = await till.projects.create(
  caller,
  { name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' },
  { idempotencyKey: 'game-1' },
)
await till.projects.update(caller, { id: project.id, config: { allowed_currencies: ['USD'] } })

// ## Stores
await till.stores.create(caller, {
  project_id: project.id,
  store_id: 'main',
  store_type: 'web',
  store_config: { currency: 'USD' },
})

// ## Items
const item = await till.items.create(caller, {
  store_id: 'main',
  name: 'gold_100',
  display_name: '100 Gold',
  price: '499',
  type: 'consumable',
  meta: { rarity: 'common' },
})
item.price // → 499
item.metadata // → { rarity: 'common' }

const cheaper = await till.items.update(caller, { id: item.id, price: '399' })
cheaper.version // → 2
await till.items.archive(caller, item.id)
const archived = await till.items.list(caller, { store_id: 'main', archived: true })
archived.items.map(({ name }) => name) // → ['gold_100']
await till.items.restore(caller, item.id)
const history = await till.items.history(caller, { id: item.id })
history.entries.at(-1).data.price // → { old: 499, new: 399 }
const golden = await till.items.list(caller, { store_id: 'main', search: 'GOLD' })
golden.items.length // → 1

// ## Catalog
const { changes, digest } = await till.catalog.plan(caller, {
  project_id: project.id,
  catalog: { stores: [{ store_id: 'main', items: [{ name: 'gold_100', price: '299' }] }] },
})
changes[0].fields // → { price: { from: 399, to: 299 } }

const exported = await readCatalog(till.catalog.export(caller, { project_id: project.id }))
const { unchanged } = await till.catalog.apply(caller, { ...exported, digest })
unchanged // → 1

// ## Sessions
const { session } = await till.sessions.init(project.public_key, { user_id: 'player-1' })
const bearer = await till.sessions.authenticate(session.token, 'items:read')
const { items } = await till.items.list(bearer, { store_id: 'main' })
items.length // → 1

await till.sessions.issue(caller, {
  project_id: project.id,
  scopes: ['items:read'],
  ttl_seconds: 600,
})
await till.sessions.revoke(caller, { project_id: project.id, user_id: 'player-1' })

// ## Purchases
const csv = 'transaction_id,sku,purchased_at,price\nT-1,gold_100,2026-01-31T12:00:00Z,499\n'
const imported = await till.purchases.import(caller, { store_id: 'main', file: [Buffer.from(csv)] })
imported.added // → 1

const { purchases } = await till.purchases.list(caller, { store_id: 'main', from: '2026-01-01' })
purchases[0].purchased_at // → '2026-01-31T12:00:00.000Z'

const [january] = await till.purchases.summarize(caller, { by: ['month'], from: '2026-01-01' })
january.revenue // → '499'

const { periods } = await till.purchases.overview(caller, { store_id: 'main', by: 'day' })
periods[0].day // → '2026-01-31'
const { buyers } = await till.purchases.buyers(caller, { store_id: 'main', from: '2026-01-01' })
buyers // → []

const { outcome } = await till.purchases.record(caller, {
  store_id: 'main',
  transaction_id: 'T-2',
  sku: 'gold_100',
  purchased_at: '2026-02-01T12:00:00Z',
  user_id: 'player-1',
  quantity: 2,
  price: 998,
})
outcome // → 'added'

const { owned } = await till.purchases.owned(caller, { store_id: 'main', user_id: 'player-1' })
owned[0].quantity // → 2

const order = { store_id: 'main', transaction_id: 'T-2' }
const delivered = await till.purchases.deliver(caller, order)
delivered.deliveries[0].outcome // → 'delivered'

const month = {
  store_id: 'main',
  file: [Buffer.from(csv)],
  from: '2026-01-01',
  to: '2026-02-01',
}
const { differences } = await till.purchases.reconcile(caller, month)
differences // → []

const refunded = { store_id: 'main', transaction_id: 'T-3' }
const sale = { ...refunded, sku: 'gold_100', purchased_at: '2026-02-02T12:00:00Z' }
await till.purchases.record(caller, sale)
const { refunds } = await till.purchases.refund(caller, refunded)
refunds[0].outcome // → 'refunded'

for await (const chunk of till.purchases.export(caller, { store_id: 'main' }))
  process.stdout.write(chunk)

// ## Imports
const record = await till.imports.get(caller, imported.import_id)
record.totals[0].total // → '499'

const undone = await till.imports.undo(caller, { import_id: imported.import_id })
undone.added // → 1

// ## Users
let document = ''
const user = { project_id: project.id, user_id: 'player-1' }
for await (const chunk of till.users.export(caller, user)) document += chunk
JSON.parse(document).purchases.length // → 1

const erased = await till.users.erase(caller, user)
erased.purchases // → 1

// ## Operator
await till.operator.ready()
await till.operator.backup('backup.db')
const { entries } = await till.operator.listAudit({ account_id: account.account_id, limit: 1 })
entries[0].action // → 'account.create'

const together = till.together()
const reader = await together(() => till.accounts.authenticate(account_key))
const listed = await together(() => till.items.list(reader, { store_id: 'main' }))
listed.items.length > 0 // → true

// ## Webhooks
const config = { webhook_url: 'https://example.com/hook', webhook_secret: 'whsec_c2VjcmV0' }
await till.projects.update(caller, { id: project.id, config })
const { endpoints } = await till.webhooks.list(caller)
endpoints[0].state // → 'active'

await till.webhooks.test(caller, project.id)
const claim = await till.outbox.claim()
const [message] = claim.messages
JSON.parse(message.body).type // → 'webhook.test'
await till.outbox.settle([{ ...message, status: 204 }])
const { deliveries } = await till.webhooks.log(caller, { endpoint_id: project.id })
deliveries[0].state // → 'delivered'
const { endpoint_id, webhook_id } = deliveries[0]
const request = await till.webhooks.getRequest(caller, { endpoint_id, webhook_id })
request.body === message.body // → true

const off = till.on('change', ({ type, data }) => console.log(type, data))
off()

// ## Errors
try {
  await till.items.create(caller, { store_id: 'main', name: 'gold 100' })
} catch (error) {
  if (!(error instanceof TillError)) throw error
  error.code // → 'invalid_request'
  error.status // → 400
  error.details[0] // → { field: 'name', code: 'invalid', message: 'must be 1 to 255 Latin letters, digits and underscores' }
}

// ## HTTP
import { createServer } from 'node:http'
import {
  createFetchHandler,
  createHandler,
  createOpenApi,
  createProblem,
  serve,
  startWebhooks,
} from 'tillkit/http'

const webhooks = startWebhooks(till)
const server = await serve(till, { port: 0, rateLimit: 600, metrics: true, webhooks })
await server.stop()
await webhooks.close()

const own = createServer(createHandler(till, { basePath: '/shop' }))
const handle = createFetchHandler(till, { authenticateAccount: () => account.account_id })
const json = { store_id: 'main', name: 'gem', display_name: 'Gem', price: '99', type: 'consumable' }
const made = await handle(
  new Request('http://localhost/api/v1/items', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(json),
  }),
)
made.status // → 200
handle.drain()
const readiness = await handle(new Request('http://localhost/readyz'), { client: '192.0.2.1' })
readiness.status // → 503
createProblem(new TillError('item_not_found', 'No item has this id'), 'request-1').status // → 404

const api = createOpenApi({ url: 'https://shop.example' })
api.openapi // → '3.1.0'
createSchemas().inputs.NewItem.required // → ['store_id', 'name', 'display_name', 'price', 'type']
createManageSchemas().PurchaseInput.required // → ['store_id', 'transaction_id', 'sku', 'purchased_at']

await till.close()
