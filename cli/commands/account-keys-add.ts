import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'

export const accountKeysAdd = command({
  name: 'account keys add',
  summary: 'Add a key to an account; it is shown only once',
  example: 'tillkit account keys add --account acc_1',
  options: ACCOUNT_OPTION,
  async run({ till, options, output }) {
    output.record(await till.accounts.addKey(await till.accounts.get(options.account)))
  },
})
