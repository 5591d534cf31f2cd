import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { wholeNumber } from '../option-values.ts'
import { ACCOUNT_OPTION } from '../options.ts'
import { ENDPOINT } from '../webhooks.ts'

export const webhooksReplay = command({
  name: 'webhooks replay',
  summary: 'Send the events from a number or a time on again',
  example: 'tillkit webhooks replay prj_1/main --since 2026-01-31T12:00:00Z',
  operand: ENDPOINT,
  options: {
    ...ACCOUNT_OPTION,
    from: { value: 'SEQUENCE', parse: wholeNumber(), help: 'the number of the first event' },
    since: { value: 'TIME', help: 'the time of the first event, or a day: 2026-01-31' },
  },
  async run({ till, operand: endpoint_id, options, output }) {
    const account = await till.accounts.get(options.account)
    const { from, since } = options
    if ((from === undefined) === (since === undefined)) {
      throw new UsageError('Either --from or --since is required')
    }
    output.record(await till.webhooks.replay(account, { endpoint_id, from, since }))
  },
})
