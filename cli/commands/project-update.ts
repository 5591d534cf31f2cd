import { command, UsageError } from '../command.ts'
import { json } from '../values.ts'
import { warnOfStatus } from '../warnings.ts'

export const projectUpdate = command({
  name: 'project update',
  summary: 'Change a project',
  storesSecrets: true,
  operand: 'ID',
  options: {
    name: { value: 'NAME', help: 'what the project is called' },
    platform: { value: 'P', help: 'mobile, web, desktop, ios, android or adroid' },
    config: {
      value: 'JSON|@FILE',
      parse: json,
      help: 'replaces the configuration; a secret left out is kept',
    },
    status: { value: 'S', help: 'disabled and archived close the project' },
  },
  async run({ till, operand, options, output }) {
    const { name, platform, config, status } = options
    if ([name, platform, status, config].every((each) => each === undefined)) {
      throw new UsageError('Nothing to change: give --name, --platform, --config or --status')
    }
    const owner = await till.accounts.ownerOf(operand)
    output.record(
      await till.projects.update(owner, { id: operand, name, platform, config, status }),
    )
    warnOfStatus(status)
  },
})
