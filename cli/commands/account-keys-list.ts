import { command } from '../command.ts'

export const accountKeysList = command({
  name: 'account keys list',
  summary: 'List the keys of an account by their ids',
  options: { account: { value: 'ID', required: true, help: 'the account' } },
  async run({ till, options, output }) {
    const keys = await till.accounts.listKeys(await till.accounts.get(options.account))
    output.table(keys, ['key_id', 'created_at', 'revoked_at'], {
      created_at: 'shorten',
      revoked_at: 'shorten',
    })
  },
})
