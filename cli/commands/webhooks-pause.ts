import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'
import { ENDPOINT } from '../webhooks.ts'

export const webhooksPause = command({
  name: 'webhooks pause',
  summary: 'Stop sending to an endpoint, until resume',
  example: 'tillkit webhooks pause prj_1/main',
  operand: ENDPOINT,
  options: ACCOUNT_OPTION,
  async run({ till, operand, options, output }) {
    const account = await till.accounts.get(options.account)
    output.record(await till.webhooks.pause(account, operand))
  },
})
