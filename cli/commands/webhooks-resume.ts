import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'
import { ENDPOINT } from '../webhooks.ts'

export const webhooksResume = command({
  name: 'webhooks resume',
  summary: 'Continue after a pause, or after an endpoint was disabled',
  example: 'tillkit webhooks resume prj_1/main',
  operand: ENDPOINT,
  options: ACCOUNT_OPTION,
  async run({ till, operand, options, output }) {
    const account = await till.accounts.get(options.account)
    output.record(await till.webhooks.resume(account, operand))
  },
})
