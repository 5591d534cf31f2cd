import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTill, openSqliteStorage } from '../../lib/index.ts'
import { serveProcess } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop } from '../support/till.ts'

const ROWS = 30_000
const KILLS = soakOnly ? 2 : 6

const csv = (import_number: number) =>
  `transaction_id,sku,purchased_at\n${Array.from(
    { length: ROWS },
    (_, i) => `T-${import_number}-${(i * 7919) % ROWS},gold,2024-01-15T10:00:00Z\n`,
  ).join('')}`

test('a server killed at any moment of an import leaves all rows or none', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const before = createTill({ storage: await openSqliteStorage(db) })
  const { account, token } = await createShop(before)
  await before.close()
  let kept = 0

  for (let round = 0; round < KILLS; round++) {
    const server = await serveProcess(t, ['--port', '0', '--db', db, '--no-webhooks'])
    const form = new FormData()
    form.set('store_id', 'main')
    form.set('file', new Blob([csv(round)]), 'purchases.csv')
    const sent = fetch(`${server.url}/api/v1/purchases/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: form,
    }).then(
      ({ status }) => status,
      () => 0,
    )
    // An import takes about 150 ms here: the kills are spread over all of it.
    await setTimeout((round / KILLS) * 300)
    server.child.kill('SIGKILL')
    await server.closed
    // fetch does not report a connection that is reset before it sends.
    const status = await Promise.race([sent, setTimeout(500, 0)])

    const till = createTill({ storage: await openSqliteStorage(db) })
    const counts = await till.purchases.summarize(account, { store_id: 'main' })
    const rows = counts.reduce((sum, { purchased }) => sum + purchased, 0)
    await till.close()
    assert.ok([kept, kept + ROWS].includes(rows), `${rows} rows after round ${round}`)
    if (status === 200) assert.equal(rows, kept + ROWS, 'an acknowledged item is stored')
    kept = rows
  }
})
