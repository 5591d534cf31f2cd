import { command } from '../command.ts'

export const accountList = command({
  name: 'account list',
  summary: 'List all accounts',
  example: 'tillkit account list --json',
  options: {},
  async run({ till, output }) {
    await output.list(till.accounts.all(), ['account_id', 'name', 'created_at'], {
      name: 'shorten',
      created_at: 'shorten',
    })
  },
})
