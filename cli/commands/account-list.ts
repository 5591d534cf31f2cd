import { command } from '../command.ts'

export const accountList = command({
  name: 'account list',
  summary: 'List all accounts',
  options: {},
  async run({ till, output }) {
    output.table(await till.accounts.list(), ['account_id', 'name', 'created_at'], {
      name: 'shorten',
      created_at: 'shorten',
    })
  },
})
