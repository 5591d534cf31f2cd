import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startSender } from '../../cli/serve/webhook-sender.ts'
import { createTill, openSqliteStorage, type Till } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startReceiver } from '../support/receiver.ts'
import { soakOnly } from '../support/soak.ts'
import { threadsOf } from '../support/threads.ts'
import { createShop } from '../support/till.ts'

test('a thread that died is replaced, and the next one sends what is due', {
  skip: soakOnly,
}, async (t) => {
  const receiver = await startReceiver(t)
  const db = join(temporaryFolder(t), 'till.db')
  const errors: unknown[] = []
  const sender = startSender(await tillWithEndpoint(), {
    ...{ db, allowPrivate: true, env: {} },
    onError: (error) => errors.push(error),
  })
  t.after(() => sender.close())
  await eventuallyHolds(() => assert.equal(errors.length, 1)) // there is no such file

  await using till = createTill({ storage: await openSqliteStorage(db) })
  const { account, project_id } = await createShop(till)
  const config = { webhook_url: receiver.url }
  await till.projects.update(account, { id: project_id, config })
  await till.webhooks.test(account, project_id)

  await eventuallyHolds(() => assert.equal(receiver.received.length, 1))
  await eventuallyHolds(() => assert.equal(sender.results['2xx'], 1))
})

test('the thread starts with the first endpoint, which another process may create', async (t) => {
  const receiver = await startReceiver(t)
  const db = join(temporaryFolder(t), 'till.db')
  await using served = createTill({ storage: await openSqliteStorage(db) })
  await using other = createTill({ storage: await openSqliteStorage(db) })
  const { account, project_id } = await createShop(other)
  const threads = threadsOf(t)
  await using sender = startSender(served, {
    ...{ db, allowPrivate: true, env: {} },
    onError: assert.ifError,
  })
  await served.accounts.create({ name: 'Second' }) // a change without an endpoint
  assert.equal(await served.outbox.hasEndpoints(), false)
  assert.equal(threads.length, 0)

  await other.projects.update(account, { id: project_id, config: { webhook_url: receiver.url } })
  await other.webhooks.test(account, project_id)

  await eventuallyHolds(() => assert.equal(sender.results['2xx'], 1))
  assert.equal(threads.length, 1)
})

async function tillWithEndpoint(): Promise<Till> {
  const { till, account, project_id } = await createShop()
  const config = { webhook_url: 'https://example.com/' }
  await till.projects.update(account, { id: project_id, config })
  return till
}

const notOnLinux = process.platform !== 'linux' && 'only Linux has a priority for each thread'

test('the thread of the sender has a lower priority than all others', {
  skip: notOnLinux,
}, async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  await (await openSqliteStorage(db)).close()
  const own = getPriority()
  const low = constants.priority.PRIORITY_BELOW_NORMAL
  await using _sender = startSender(await tillWithEndpoint(), {
    db,
    allowPrivate: true,
    env: {},
    onError: () => {},
  })

  await eventuallyHolds(() => {
    const others = readdirSync('/proc/self/task')
      .map((thread) => getPriority(Number(thread)))
      .filter((priority) => priority !== own)
    assert.deepEqual(others, own < low ? [low] : [])
  })
})
