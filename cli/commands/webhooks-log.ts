import {
  WEBHOOK_DELIVERY_STATES,
  type WebhookDelivery,
  type WebhookDeliveryState,
} from '../../lib/index.ts'
import { command } from '../command.ts'
import { ACCOUNT_OPTION, PAGE_OPTIONS } from '../options.ts'
import { ENDPOINT, formatFailure } from '../webhooks.ts'

export const webhooksLog = command({
  name: 'webhooks log',
  summary: 'List the messages of an endpoint, newest first; the log keeps 30 days',
  example: 'tillkit webhooks log prj_1/main --state failed',
  operand: ENDPOINT,
  options: {
    ...ACCOUNT_OPTION,
    state: {
      value: 'S',
      choices: WEBHOOK_DELIVERY_STATES,
      help: 'only waiting, delivered or failed messages',
    },
    ...PAGE_OPTIONS,
  },
  async run({ till, operand: endpoint_id, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { limit, cursor } = options
    const state = options.state as WebhookDeliveryState | undefined // validated by the library
    const page = await till.webhooks.log(account, { endpoint_id, state, limit, cursor })
    if (output.json) return output.record(page)
    output.table(
      page.deliveries.map(toRow),
      'sequence type state attempts at next_at result webhook_id'.split(' '),
      { webhook_id: 'omit', next_at: 'omit', at: 'shorten', result: 'shorten' },
    )
    if (page.next) io.stderr.write(`There are more: --cursor ${page.next}\n`)
  },
})

function toRow(delivery: WebhookDelivery): object {
  const { at = '', next_at = '' } = delivery
  return { ...delivery, at, next_at, result: formatFailure(delivery) }
}
