import { command } from '../command.ts'

export const accountCreate = command({
  name: 'account create',
  summary: 'Create an account; its key is shown this once',
  makesDatabase: true,
  options: { name: { value: 'NAME', required: true, help: 'what the account is called' } },
  async run({ till, options, output }) {
    output.record(await till.accounts.create(options))
  },
})
