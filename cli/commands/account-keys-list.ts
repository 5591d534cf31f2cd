import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'

export const accountKeysList = command({
  name: 'account keys list',
  summary: 'List the ids of the keys of an account',
  example: 'tillkit account keys list --account acc_1',
  options: ACCOUNT_OPTION,
  async run({ till, options, output }) {
    const keys = await till.accounts.listKeys(await till.accounts.get(options.account))
    output.table(keys, ['key_id', 'created_at', 'revoked_at'], {
      created_at: 'shorten',
      revoked_at: 'shorten',
    })
  },
})
