import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createShop, fileOf } from './support/till.ts'

/** The names of the fields that docs/library.md lists for a record, with `?` behind optional ones. */
function documented(record: string): string[] {
  const page = readFileSync('docs/library.md', 'utf8')
  const [, section = ''] = page.split(`\n### ${record}\n`)
  const [table = ''] = section.split(/\n##/)
  const cells = [...table.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`(.+?)`/g)].map(([, name = '']) => name))
}

async function records(): Promise<{ readonly [name: string]: readonly object[] }> {
  const { till, account, project_id, public_key, store, item, account_id } = await createShop()
  const config = { webhook_url: 'https://example.com/hook' }
  await till.projects.update(account, { id: project_id, config })
  const [endpoint] = (await till.webhooks.list(account)).endpoints
  await till.webhooks.test(account, project_id)
  const { messages } = await till.outbox.claim({ holder: 'test' })
  await till.outbox.settle(
    'test',
    messages.map((message) => ({ ...message, status: 500, answer: 'no' })),
  )
  const { key_id } = await till.accounts.addKey(account)
  await till.accounts.revokeKey(account, key_id)
  const { session } = await till.sessions.init(public_key, { user_id: 'player' })
  const csv =
    'transaction_id,sku,purchased_at,user_id,price,expires_at\nT-1,gold,1769860800,ann,499,1769860900\n'
  const file = fileOf(csv, 'T-2,gold,1769860800,,,\n')
  const { import_id } = await till.purchases.import(account, { store_id: 'main', file })
  const { purchases } = await till.purchases.list(account, { store_id: 'main' })
  const by = [['day', 'sku', 'store'], ['week'], ['month']] as const
  const summaries = by.map((keys) => till.purchases.summarize(account, { by: keys }))
  const { deliveries } = await till.webhooks.log(account, { endpoint_id: project_id })
  const [{ endpoint_id, webhook_id } = assert.fail()] = deliveries
  return {
    Account: [await till.accounts.get(account_id)],
    AccountKeyInfo: await till.accounts.listKeys(account),
    Project: [await till.projects.get(account, project_id)],
    Store: [store],
    Item: [item, await till.items.archive(account, item.id)],
    Session: [await till.sessions.authenticate(session.token)],
    Purchase: purchases,
    PurchaseSummary: (await Promise.all(summaries)).flat(),
    ImportRecord: [
      await till.imports.get(account, import_id),
      await till.imports.undo(account, { import_id }),
    ],
    WebhookEndpoint: [{ ...endpoint }, await till.webhooks.get(account, project_id)],
    WebhookDelivery: deliveries,
    WebhookRequest: [await till.webhooks.getRequest(account, { endpoint_id, webhook_id })],
    AuditEntry: (await till.operations.listAudit({ account_id })).entries,
  }
}

test('docs/library.md lists the fields of every record', async () => {
  for (const [record, found] of Object.entries(await records())) {
    const names = documented(record)
    const all = names.map((name) => name.replace('?', ''))
    const required = names.filter((name) => !name.endsWith('?'))
    assert.ok(found.length > 0 && names.length > 0, record)
    for (const each of found) {
      const fields = Object.keys(JSON.parse(JSON.stringify(each)))
      const unlisted = fields.filter((name) => !all.includes(name))
      const absent = required.filter((name) => !fields.includes(name))
      assert.deepEqual({ unlisted, absent }, { unlisted: [], absent: [] }, record)
    }
  }
})
