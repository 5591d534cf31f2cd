import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'

export const accountKeysRevoke = command({
  name: 'account keys revoke',
  summary: 'Revoke a key of an account, at once',
  example: 'tillkit account keys revoke key_1 --account acc_1',
  operand: 'KEY_ID',
  options: ACCOUNT_OPTION,
  async run({ till, options, operand, output }) {
    const account = await till.accounts.get(options.account)
    await till.accounts.revokeKey(account, operand)
    output.record({ account_id: account.account_id, key_id: operand, revoked: true })
  },
})
