import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryStorage } from '../../lib/index.ts'
import { openImport } from '../../lib/storage/open-import.ts'
import { createShop, memoryTill } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id\n'

function rowsOf(count: number): string {
  return Array.from({ length: count }, (_, i) => `T-${i},gold,1709294400,player\n`).join('')
}

async function start() {
  const storage = createMemoryStorage()
  const till = memoryTill({ storage })
  const shop = await createShop(till)
  const controller = new AbortController()
  const { signal } = controller
  const count = async () => {
    const [sum] = await till.purchases.summarize(shop.account, { by: ['currency'] })
    return sum?.purchased ?? 0
  }
  return { ...shop, storage, till, controller, signal, count }
}

test('an aborted import throws the reason and stores nothing, also in the middle of a chunk', async () => {
  const { till, account, controller, signal, count } = await start()
  const reason = new Error('the user went away')
  const file = [Buffer.from(HEADER + rowsOf(5_000)), Buffer.from(rowsOf(1))]
  const onProgress = () => controller.abort(reason)

  await assert.rejects(
    till.purchases.import(account, {
      store_id: 'main',
      file: file.slice(0, 1),
      signal,
      onProgress,
    }),
    reason,
  )
  await assert.rejects(till.purchases.import(account, { store_id: 'main', file, signal }), reason)

  assert.equal(await count(), 0)
  await till.purchases.import(account, { store_id: 'main', file: file.slice(0, 1) })
  assert.equal(await count(), 5_000)
})

test('an import that waits for another one can be aborted', async () => {
  const { till, account, controller, signal, storage, store } = await start()
  const other = await openImport(storage, store, 'imp_other', 0)
  const file = [Buffer.from(HEADER + rowsOf(1))]

  const waiting = till.purchases.import(account, { store_id: 'main', file, signal })
  controller.abort()

  await assert.rejects(waiting, { name: 'AbortError' })
  await other.abort()
})

test('an aborted erasure throws the reason, and a second call finishes it', async () => {
  const { till, account, project, controller, signal } = await start()
  const file = [Buffer.from(HEADER + rowsOf(1_200))]
  await till.purchases.import(account, { store_id: 'main', file })
  const user = { project_id: project.id, user_id: 'player' }
  const onProgress = () => controller.abort()

  await assert.rejects(till.users.erase(account, user, { signal, onProgress }), {
    name: 'AbortError',
  })
  const rest = await till.users.erase(account, user)

  assert.ok(rest.purchases > 0 && rest.purchases < 1_200, String(rest.purchases))
})
