import { command, UsageError } from '../command.ts'
import { json, oneOf } from '../values.ts'
import { warnOfStatus } from '../warnings.ts'

const trueOrFalse = oneOf('true', 'false')

export const storeUpdate = command({
  name: 'store update',
  summary: 'Change a store',
  storesSecrets: true,
  operand: 'STORE',
  options: {
    account: { value: 'ID', required: true, help: 'the account that owns it' },
    sandbox: { value: 'BOOL', parse: trueOrFalse, help: 'true: no payment is charged for real' },
    status: { value: 'S', help: 'disabled and archived close the store' },
    config: {
      value: 'JSON|@FILE',
      parse: json,
      help: 'replaces the configuration; a secret left out is kept',
    },
  },
  async run({ till, operand, options, output }) {
    const { sandbox, status, config } = options
    if ([sandbox, status, config].every((each) => each === undefined)) {
      throw new UsageError('Nothing to change: give --sandbox, --status or --config')
    }
    const account = await till.accounts.get(options.account)
    const store = await till.stores.update(account, {
      store_id: operand,
      is_sandbox: sandbox === undefined ? undefined : sandbox === 'true',
      status,
      store_config: config,
    })
    output.record(store)
    warnOfStatus(status)
  },
})
