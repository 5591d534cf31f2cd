// Servers on PostgreSQL that freeze in the middle of a transaction, such as a paused virtual machine.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startWebhooks } from '../../http/index.ts'
import { createTill, type TillError } from '../../lib/index.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { soakOnly } from '../support/soak.ts'
import { AT, insertShops, newAccount } from '../support/storage/records.ts'
import { startWorker } from '../support/worker.ts'

const server = await startPostgres()
type Worker = ReturnType<typeof startWorker>
const skip = soakOnly || (process.platform !== 'linux' && 'a frozen process is found in /proc')

/** A database with shops, and a process on it that freezes in a statement that contains `text`. */
async function openFrozen(t: TestContext, text: string) {
  const url = await server.emptyDatabase(t)
  const storage = await openPostgres(t, url)
  await insertShops(storage)
  const till = createTill({ storage })
  const account = newAccount('acc_1')
  const worker = startWorker(t)
  await worker.ask('openAndFreeze', url, text)
  const record = (transaction_id: string) => {
    const sale = { sku: 'gold', purchased_at: AT, price: '1', currency: 'USD' }
    return till.purchases.record(account, { store_id: 'main', transaction_id, ...sale })
  }
  return { till, account, storage, worker, record }
}

/** Resolves to the seconds that some work takes. */
async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}

test('a server that froze while it recorded a purchase blocks its store on the others for 8 s, and no recording is refused', {
  skip,
}, async (t) => {
  const { worker, record, till, account } = await openFrozen(t, 'SET last_purchase =')
  await worker.askUntilFrozen('record', 'T-frozen')

  const seconds = await secondsOf(() => Promise.all(['T-1', 'T-2', 'T-3'].map(record)))

  assert.ok(seconds < 12, `${seconds} s`)
  worker.thaw()
  await setTimeout(1_000)
  const { purchases } = await till.purchases.list(account, { store_id: 'main' })
  assert.deepEqual(purchases.map((each) => each.transaction_id).sort(), ['T-1', 'T-2', 'T-3'])
})

test('a server that froze in a COPY blocks neither its store nor webhooks', { skip }, async (t) => {
  const { worker, record, till, account } = await openFrozen(t, 'COPY purchases')
  await till.projects.update(account, {
    id: 'prj_1',
    config: { webhook_url: 'https://a.example/' },
  })
  assert.equal(await worker.ask('openImport', 'imp_frozen'), true)
  await worker.askUntilFrozen('addRows', 1, 100)

  const seconds = await secondsOf(async () => {
    await record('T-1')
    for (let sent = 0; sent === 0; await setTimeout(200)) {
      sent = (await till.outbox.claim()).messages.length
    }
  })

  assert.ok(seconds < 15, `${seconds} s`)
})

for (const [place, freeze] of [
  ['in a transaction', (worker: Worker) => worker.askUntilFrozen('sendWebhooks')],
  [
    'with a lease',
    async (worker: Worker) => {
      await worker.ask('sendWebhooks')
      worker.freeze()
    },
  ],
] as const) {
  test(`another server takes over within 45 s from a sender that froze ${place}`, {
    skip,
  }, async (t) => {
    const text = place === 'with a lease' ? 'nothing' : 'INSERT INTO webhook_sender'
    const { worker, till, account } = await openFrozen(t, text)
    const receiver = await startReceiver(t)
    await till.projects.update(account, { id: 'prj_1', config: { webhook_url: receiver.url } })
    await till.webhooks.test(account, 'prj_1')
    await freeze(worker)

    const seconds = await secondsOf(async () => {
      await using _sender = startWebhooks(till, { allowPrivate: true })
      const before = receiver.received.length
      while (receiver.received.length === before) await setTimeout(100)
    })

    assert.ok(seconds < 45, `${seconds} s`)
  })
}

test('idle transactions end after 8 s, and an error names a wait for a lock', async (t) => {
  const url = await server.emptyDatabase(t)
  let settings: Record<string, unknown> = {}
  const driver = drivenBy((_, send) => send())
  const storage = await openPostgres(t, url, {
    statementTimeout: 500,
    postgres(url, given) {
      settings = given.connection
      return driver(url, given)
    },
  })
  await insertShops(storage)
  assert.equal(settings.idle_in_transaction_session_timeout, 8_000)
  const session = await rawPostgres(t, url).reserve()
  await session`BEGIN`
  await session`SELECT * FROM projects FOR UPDATE`

  const change = storage.updateProject('prj_1', (project) => ({
    record: { ...project, name: 'Next' },
  }))

  await assert.rejects(change, (error: TillError) => {
    assert.equal(error.code, 'storage_unavailable')
    assert.equal(error.message, 'Another transaction held a lock for too long')
    assert.match(String(error.cause), /canceling statement due to lock timeout/)
    return true
  })
  await session`ROLLBACK`
})
