import { command } from '../command.ts'

export const accountCreate = command({
  name: 'account create',
  summary: 'Create an account; its key is shown only once',
  example: "tillkit account create --name 'My studio'",
  makesDatabase: true,
  options: { name: { value: 'NAME', required: true, help: 'what the account is called' } },
  async run({ till, options, output, db, isNew, io }) {
    if (isNew) io.stderr.write(`tillkit: created a new database ${db}\n`)
    output.record(await till.accounts.create({ name: options.name }))
  },
})
