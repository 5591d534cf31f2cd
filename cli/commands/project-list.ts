import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'

export const projectList = command({
  name: 'project list',
  summary: 'List the projects of an account',
  example: 'tillkit project list --account acc_1',
  options: ACCOUNT_OPTION,
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    await output.list(till.projects.all(account), ['id', 'name', 'platform', 'status'], {
      name: 'shorten',
      platform: 'omit',
      status: 'shorten',
    })
  },
})
