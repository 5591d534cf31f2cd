import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'
import { warnOfUnsigned } from '../warnings.ts'
import { ENDPOINT } from '../webhooks.ts'

export const webhooksConfirm = command({
  name: 'webhooks confirm',
  summary: 'Activate a webhook URL that a session set',
  example: 'tillkit webhooks confirm prj_1 --url https://shop.example/hook',
  operand: ENDPOINT,
  options: {
    ...ACCOUNT_OPTION,
    url: { value: 'URL', help: 'the expected URL; fails if another one waits meanwhile' },
    'set-at': {
      value: 'TIME',
      help: 'the time that webhooks list printed; fails if the URL or secret was set again',
    },
  },
  async run({ till, operand, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { url, 'set-at': unconfirmed_at } = options
    const endpoint = await till.webhooks.confirm(account, operand, { url, unconfirmed_at })
    output.record(endpoint)
    warnOfUnsigned(io, operand, endpoint.url, endpoint.is_signed)
  },
})
