import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'
import { ENDPOINT } from '../webhooks.ts'

export const webhooksTest = command({
  name: 'webhooks test',
  summary: 'Send a webhook.test event to an endpoint',
  example: 'tillkit webhooks test prj_1/main',
  operand: ENDPOINT,
  options: ACCOUNT_OPTION,
  async run({ till, operand, options, output }) {
    const account = await till.accounts.get(options.account)
    output.record(await till.webhooks.test(account, operand))
  },
})
