import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { watchTransactions } from '../../cli/serve/transaction-watch.ts'
import { createTill, type OpenTransaction, openPostgresStorage } from '../../lib/index.ts'
import { serveProcess } from '../support/cli.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop, memoryTill } from '../support/till.ts'

test('a transaction that stays open is logged once after 60 s, and when it has ended', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let open: OpenTransaction | undefined
  const log: string[] = []
  const till = memoryTill()
  const operator = { ...till.operator, openTransaction: async () => open }
  watchTransactions({ ...till, operator }, (level, message) => log.push(`${level} ${message}`))
  const look = async (holder: string, seconds: number) => {
    open = holder === '' ? undefined : { holder, seconds }
    t.mock.timers.tick(5_000)
    await setImmediate()
  }

  await look('', 0)
  await look('process 1 (psql)', 59)
  assert.deepEqual(log, [])
  await look('process 1 (psql)', 64.4)
  await look('process 1 (psql)', 69.4)
  await look('process 2 (psql)', 61)
  await look('', 0)
  await look('', 0)

  assert.deepEqual(log, [
    'warn The transaction of process 1 (psql) has been open for 64 s: webhooks wait for it',
    'info The transaction of process 1 (psql) has ended',
    'warn The transaction of process 2 (psql) has been open for 61 s: webhooks wait for it',
    'info The transaction of process 2 (psql) has ended',
  ])
})

const server = soakOnly ? undefined : await startPostgres()

test('the log and the metrics of a server name a transaction that was forgotten', {
  skip: soakOnly,
}, async (t) => {
  const url = (await server?.createDatabase()) ?? ''
  const till = createTill({ storage: await openPostgresStorage(url, PATIENT) })
  t.after(() => till.close())
  const served = await serveProcess(t, ['--db', url, '--port', '0', '--metrics', '--workers', '2'])
  const session = await rawPostgres(t, url).reserve()
  await session`BEGIN`
  const [row] = await session`SELECT pg_backend_pid() AS pid, pg_current_xact_id()`
  await createShop(till)

  await setTimeout(70_000)
  const metrics = await (await fetch(`${served.url}/metrics`)).text()
  await session`ROLLBACK`
  await setTimeout(6_000)

  const age = Number(/^tillkit_open_transaction_seconds (\S+)$/m.exec(metrics)?.[1])
  assert.ok(age > 60 && age < 90, String(age))
  const named = `The transaction of process ${row?.pid} (postgres.js) has`
  const about = served.log.filter((line) => line.includes(named))
  assert.equal(about.length, 2, served.log.join('\n'))
  assert.match(about[0] ?? '', /has been open for 6\d s: webhooks wait for it/)
  assert.match(about[1] ?? '', /has ended/)
})
