import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { CHANGE_OPTIONS } from '../options.ts'
import { warnOfStatus } from '../warnings.ts'

export const projectUpdate = command({
  name: 'project update',
  summary: 'Change a project',
  storesSecrets: true,
  operand: 'ID',
  options: {
    name: { value: 'NAME', help: 'the name of the project' },
    platform: { value: 'P', help: 'mobile, web, desktop, ios, android or adroid' },
    ...CHANGE_OPTIONS,
  },
  async run({ till, operand, options, output, io }) {
    const { name, platform, config, status } = options
    if ([name, platform, status, config].every((each) => each === undefined)) {
      throw new UsageError('Nothing to change: give --name, --platform, --config or --status')
    }
    const owner = await till.accounts.ownerOf(operand)
    output.record(
      await till.projects.update(owner, { id: operand, name, platform, config, status }),
    )
    warnOfStatus(io, status)
  },
})
