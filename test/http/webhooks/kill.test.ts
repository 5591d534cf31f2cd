import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTill, openSqliteStorage } from '../../../lib/index.ts'
import { eventuallyHolds } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startReceiver } from '../../support/receiver.ts'
import { importRefunds } from '../../support/refunds.ts'
import { soakOnly } from '../../support/soak.ts'
import { createShop } from '../../support/till.ts'

/** Starts a process that creates items and sends their webhooks; see fixtures/creator.ts. */
function startCreator(t: TestContext, path: string, firstName: string, isCreating: boolean) {
  const args = [path, firstName, isCreating ? 'create' : 'only send']
  const child = fork(new URL('../fixtures/creator.ts', import.meta.url), args, { execArgv: [] })
  t.after(() => child.kill('SIGKILL'))
  const acknowledged: string[] = []
  child.on('message', (name: string) => acknowledged.push(name))
  return { child, acknowledged, ended: once(child, 'exit') }
}

test('a process that is killed loses no event, and none is sent that was not committed', {
  skip: soakOnly,
}, async (t) => {
  const path = join(temporaryFolder(t), 'till.db')
  const receiver = await startReceiver(t)
  const till = createTill({ storage: await openSqliteStorage(path) })
  t.after(till.close)
  const { account, project } = await createShop(till)
  const config = { webhook_url: receiver.url }
  await till.projects.update(account, { id: project.id, config })

  const acknowledged: string[] = []
  for (const answers of [1, 20]) {
    const creator = startCreator(t, path, `until_${answers}`, true)
    let left = answers
    // At this moment, some messages wait, some are on their way and some are not settled.
    receiver.answer = (response) => {
      if (--left === 0) creator.child.kill('SIGKILL')
      response.writeHead(204).end()
    }
    await creator.ended
    acknowledged.push(...creator.acknowledged)
  }
  receiver.answer = (response) => response.writeHead(204).end()
  startCreator(t, path, 'none', false)

  const committed: string[] = []
  for await (const { name } of till.items.all(account, { store_id: 'main' })) {
    if (name !== 'gold') committed.push(name)
  }
  assert.ok(acknowledged.length > 0)
  assert.ok(acknowledged.every((name) => committed.includes(name)))
  await eventuallyHolds(() => {
    const sent = new Set(receiver.received.map(({ body }) => JSON.parse(body).data.item.name))
    assert.deepEqual([...sent].sort(), committed.sort())
  })
})

test('a process that is killed between the parts of an import loses none, and keeps their ids', {
  skip: soakOnly,
}, async (t) => {
  const path = join(temporaryFolder(t), 'till.db')
  const receiver = await startReceiver(t)
  const till = createTill({ storage: await openSqliteStorage(path) })
  t.after(till.close)
  const { account, project } = await createShop(till)
  const config = { webhook_url: receiver.url }
  await till.projects.update(account, { id: project.id, config })
  await importRefunds(till, account, 3_000)

  // A claim reads 20 parts, of about 28. Afterwards further claims read the rest.
  for (const answers of [1, 15]) {
    const creator = startCreator(t, path, 'none', false)
    let left = answers
    receiver.answer = (response) => {
      if (--left === 0) creator.child.kill('SIGKILL')
      response.writeHead(204).end()
    }
    await creator.ended
  }
  receiver.answer = (response) => response.writeHead(204).end()
  startCreator(t, path, 'none', false)

  const ids = new Map<number, Set<unknown>>()
  const refunded = new Set<string>()
  await eventuallyHolds(() => {
    for (const { headers, body } of receiver.received) {
      const { part = 0, data } = JSON.parse(body)
      if (!data.purchases) continue
      ids.set(part, (ids.get(part) ?? new Set()).add(headers['webhook-id']))
      for (const { transaction_id } of data.purchases) refunded.add(transaction_id)
    }
    assert.equal(refunded.size, 3_000)
  })
  assert.ok(ids.size > 25)
  assert.ok([...ids.values()].every((each) => each.size === 1))
})
