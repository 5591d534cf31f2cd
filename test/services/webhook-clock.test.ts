import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTill } from '../../lib/index.ts'
import { openPostgres, startPostgres } from '../support/postgres.ts'
import { createShop } from '../support/till.ts'

const server = await startPostgres()

for (const hours of [1, -1]) {
  test(`a retry comes in time when the server that sent first has a clock that is wrong by ${hours} h`, async (t) => {
    const storage = await openPostgres(t, await server.emptyDatabase(t))
    const retries = [1_000]
    const { till, account, project_id } = await createShop(
      createTill({ storage, webhooks: { retries } }),
    )
    const config = { webhook_url: 'https://hooks.example.com/' }
    await till.projects.update(account, { id: project_id, config })
    await till.webhooks.test(account, project_id)
    const real = Date.now
    const mock = t.mock.method(Date, 'now', () => real() + hours * 3_600_000)
    const { outbox } = createTill({ storage, webhooks: { retries } })
    const [message = assert.fail()] = (await outbox.claim()).messages
    const sent = Number(message.headers['webhook-timestamp'])
    const { endpoint_id, sequence, part } = message
    await outbox.settle([{ endpoint_id, sequence, part, duration_ms: 1, status: 500 }])
    await outbox.release()
    mock.mock.restore()

    assert.equal((await till.outbox.claim()).messages.length, 0)
    await setTimeout(1_500)
    const [again] = (await till.outbox.claim()).messages

    assert.equal(again?.attempt, 2)
    assert.ok(Math.abs(sent - Date.now() / 1000) < 10, String(sent))
  })
}
