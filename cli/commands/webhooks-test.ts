import { setTimeout } from 'node:timers/promises'
import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'
import { ENDPOINT } from '../webhooks.ts'

/** A server reads the changes of other processes every second. */
const WAIT_MS = 3_000
const POLL_MS = 100

export const webhooksTest = command({
  name: 'webhooks test',
  summary: 'Send a webhook.test event to an endpoint',
  example: 'tillkit webhooks test prj_1/main',
  operand: ENDPOINT,
  options: ACCOUNT_OPTION,
  async run({ till, operand: endpoint_id, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const findLatest = async () => {
      const { deliveries } = await till.webhooks.log(account, { endpoint_id, limit: 100 })
      return deliveries.find(({ type }) => type === 'webhook.test')?.webhook_id
    }
    const before = await findLatest()
    const endpoint = await till.webhooks.test(account, endpoint_id)
    output.record(endpoint)
    if (endpoint.state !== 'active') {
      io.stderr.write(`The endpoint is ${endpoint.state}: the event waits until webhooks resume\n`)
      return
    }
    for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
      await setTimeout(POLL_MS)
      if ((await findLatest()) !== before) return
    }
    io.stderr.write(
      `No server has sent the event within ${WAIT_MS / 1000} s: start tillkit serve\n`,
    )
  },
})
