import { command } from '../command.ts'

export const accountKeysRevoke = command({
  name: 'account keys revoke',
  summary: 'End a key of an account, at once',
  operand: 'KEY_ID',
  options: { account: { value: 'ID', required: true, help: 'the account that has it' } },
  async run({ till, options, operand, output }) {
    const account = await till.accounts.get(options.account)
    await till.accounts.revokeKey(account, operand)
    output.record({ account_id: account.account_id, key_id: operand, revoked: true })
  },
})
