import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManageClient } from '../../client/manage.ts'
import type { Reconciliation } from '../../lib/index.ts'
import { assertProblem, importForm, type Parts, startServer } from '../support/server.ts'
import { createShop } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,price,currency\n'
const row = (id: string) => `${id},gold,2026-07-15T10:00:00Z,499,USD\n`
const JULY = { from: '2026-07-01', to: '2026-08-01' }
const LINE = 'POST /manage/v1/stores/main/reconciliations'

test('a reconciliation over HTTP counts what the file lacks, and cancels only this number', async (t) => {
  const server = await startServer(t, { options: { manage: true } })
  const { till } = server
  const shop = await createShop(till)
  const { account, account_key } = shop
  const send = (fields: { [name: string]: string }, parts: Parts = {}) =>
    server.send(LINE, { account_key, body: importForm(HEADER + row('T-1'), fields), ...parts })
  const form = importForm(HEADER + row('T-1') + row('FAKE'))
  await server.send('POST /manage/v1/stores/main/imports', { account_key, body: form })

  const reply = await send(JULY)
  const { differences, judged } = reply.json<Reconciliation>()
  assert.deepEqual([reply.status, judged, differences.length], [200, 2, 1])
  assert.deepEqual(differences[0]?.first, [
    {
      kind: 'missing_in_file',
      transaction_id: 'FAKE',
      purchased_at: '2026-07-15T10:00:00.000Z',
      stored: { sku: 'gold', quantity: 1, price: 499, currency: 'USD', status: 'purchased' },
    },
  ])
  const mistakes: [fields: { [name: string]: string }, field: string, code: string][] = [
    [{}, 'from', 'required'],
    [{ ...JULY, from: 'yesterday' }, 'from', 'invalid'],
    [{ ...JULY, cancel_missing: '0' }, 'cancel_missing', 'invalid'],
    [{ ...JULY, cancel_missing: 'true' }, 'cancel_missing', 'invalid'],
    [{ ...JULY, cancel_missing: '2' }, 'cancel_missing', 'changed'],
    [{ ...JULY, 'cancel-missing': '1' }, 'cancel-missing', 'unknown'],
    [{ ...JULY, preset: 'x' }, 'preset', 'invalid'],
  ]
  for (const [fields, field, code] of mistakes) {
    const { errors = [] } = assertProblem(await send(fields), 400, 'invalid_request')
    assert.deepEqual([errors[0]?.field, errors[0]?.code], [field, code])
  }
  assertProblem(await send(JULY, { account_key: undefined }), 401, 'account_key_required')
  const { purchases } = await till.purchases.list(account, { store_id: 'main' })
  assert.ok(purchases.every(({ status }) => status === 'purchased'))

  const client = createManageClient({ url: server.url, accountKey: account_key })
  const file = { store_id: 'main', file: HEADER + row('T-1'), ...JULY }
  const { cancelled, import_id } = await client.purchases.reconcile({ ...file, cancel_missing: 1 })
  assert.equal(cancelled, 1)
  const { imports } = await client.imports.list({ store_id: 'main' })
  assert.equal(imports[1]?.import_id, import_id)
  assert.deepEqual((await client.purchases.reconcile(file)).differences, [])

  const other = await createShop(till, 'Other')
  const asOther = { account_key: other.account_key }
  const foreign = await server.send(LINE.replace('main', 'secret'), {
    ...asOther,
    body: importForm(HEADER + row('T-1'), JULY),
  })
  assertProblem(foreign, 400, 'invalid_request')
})
