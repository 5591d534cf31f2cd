import { command } from '../command.ts'

export const projectList = command({
  name: 'project list',
  summary: 'List the projects of an account',
  options: { account: { value: 'ID', required: true, help: 'the account' } },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    await output.list(till.projects.all(account), ['id', 'name', 'platform', 'status'], {
      name: 'shorten',
      platform: 'omit',
      status: 'shorten',
    })
  },
})
