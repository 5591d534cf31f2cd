import { command } from '../command.ts'

export const accountKeysAdd = command({
  name: 'account keys add',
  summary: 'Add a key to an account; it is shown this once',
  options: { account: { value: 'ID', required: true, help: 'the account' } },
  async run({ till, options, output }) {
    output.record(await till.accounts.addKey(await till.accounts.get(options.account)))
  },
})
