import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryStorage, createTill } from '../../lib/index.ts'
import { createShop } from '../support/till.ts'

/** A till with three endpoints, which counts what its backlog reads. */
async function openTill() {
  const memory = createMemoryStorage()
  const calls = { listEndpoints: 0, most: [] as (number | undefined)[] }
  const counting: Partial<typeof memory> = {
    listEndpoints(...args) {
      calls.listEndpoints++
      return memory.listEndpoints(...args)
    },
    // As if each endpoint had very many unread entries.
    async measureLag(id, actions, most) {
      calls.most.push(most)
      return { ...(await memory.measureLag(id, actions, most)), examined: 60_000 }
    },
  }
  const till = createTill({ storage: Object.assign(Object.create(memory), counting) })
  for (const name of ['One', 'Two', 'Three']) {
    const { account, project } = await createShop(till, name)
    const config = { webhook_url: 'https://example.com/' }
    await till.projects.update(account, { id: project.id, config })
    await till.webhooks.test(account, project.id)
  }
  calls.most.length = 0
  return { till, calls }
}

test('scrapes at the same time and soon after share one bounded measurement of the backlog', async () => {
  const { till, calls } = await openTill()
  const [first, second] = await Promise.all([till.outbox.backlog(), till.outbox.backlog()])
  assert.deepEqual(await till.outbox.backlog(), first)
  assert.deepEqual(second, first)
  assert.deepEqual([first.endpoints.active, first.lag], [3, 3])
  assert.equal(calls.listEndpoints, 1)
  assert.deepEqual(calls.most, [10_000, 10_000, 1])
})
