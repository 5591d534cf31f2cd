// Puts a server behind pgbouncer in transaction mode, with the settings of deploy/pgbouncer.ini.
// The tests of terminated backends are in test/storage.
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTill, openPostgresStorage } from '../../lib/index.ts'
import { serveProcess } from '../support/cli.ts'
import { ask, itemNamed } from '../support/load.ts'
import { pgbouncerPath, startPgbouncer } from '../support/pgbouncer.ts'
import { PATIENT, startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop } from '../support/till.ts'

const skip = soakOnly || (pgbouncerPath === undefined && 'pgbouncer is not installed')

// After a failed login, pgbouncer waits for server_login_retry: 15 s by default.
test('a restart of PostgreSQL behind pgbouncer is an outage of a few seconds', {
  skip,
}, async (t) => {
  const postgres = await startPostgres({ isOwn: true })
  if (postgres.isForeign) return t.skip(postgres.isForeign)
  const pgbouncer = await startPgbouncer(await postgres.createDatabase(t))
  t.after(() => pgbouncer.stop())
  const till = createTill({ storage: await openPostgresStorage(pgbouncer.url, PATIENT) })
  const { account } = await createShop(till)
  await till.close()
  const { url } = await serveProcess(t, ['--db', pgbouncer.url, '--port', '0', '--log', 'errors'])
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const create = async (name: string) => {
    const headers = { 'x-account-key': account.account_key }
    return (await ask(agent, `${url}/api/v1/items`, headers, itemNamed(name))).status
  }
  assert.equal(await create('before'), 200)

  await postgres.stop()
  assert.equal(await create('meanwhile'), 503)
  await setTimeout(700)
  await postgres.start()
  const back = Date.now()
  for (let n = 0; (await create(`after_${n}`)) !== 200; n++) await setTimeout(100)

  const seconds = (Date.now() - back) / 1_000
  assert.ok(seconds < 8, `${seconds} s`)
})
