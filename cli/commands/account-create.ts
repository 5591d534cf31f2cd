import { PLATFORMS } from '../../lib/index.ts'
import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'

export const accountCreate = command({
  name: 'account create',
  summary: 'Create an account; its key is shown only once',
  example: "tillkit account create --name 'My studio'",
  makesDatabase: true,
  options: {
    name: { value: 'NAME', required: true, help: 'what the account is called' },
    project: { value: 'NAME', help: 'the name of a first project; its public key is shown too' },
    'bundle-id': { value: 'ID', help: 'of the project, in reverse-domain form: com.example.game' },
    platform: { value: 'P', choices: PLATFORMS, help: 'of the project: mobile, web, desktop, …' },
  },
  async run({ till, options, output, db, isNew, io }) {
    if (isNew) io.stderr.write(`tillkit: created a new database ${db}\n`)
    const { name, project, 'bundle-id': bundle_id, platform } = options
    const parts = { '--project': project, '--bundle-id': bundle_id, '--platform': platform }
    const missing = Object.entries(parts).flatMap(([option, value]) => (value ? [] : [option]))
    if (project === undefined || bundle_id === undefined || platform === undefined) {
      if (missing.length < 3)
        throw new UsageError(`A first project needs ${missing.join(' and ')} too`)
      output.record(await till.accounts.create({ name }))
      return
    }
    const first = { name: project, bundle_id, platform }
    const created = await till.accounts.create({ name, project: first })
    if (output.json) return output.record(created)
    const { project: { id = '', public_key = '' } = {}, ...account } = created
    output.record({ ...account, project_id: id, public_key })
  },
})
