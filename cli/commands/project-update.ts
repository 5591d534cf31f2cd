import { PLATFORMS, type ProjectChange } from '../../lib/index.ts'
import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { accountOf, CHANGE_OPTIONS, PROJECT_OPTIONS } from '../options.ts'
import { warnOfProject, warnOfStatus } from '../warnings.ts'

export const projectUpdate = command({
  name: 'project update',
  summary: 'Change a project',
  example: "tillkit project update --project prj_1 --name 'Game 2' --config @config.json",
  storesSecrets: true,
  options: {
    ...PROJECT_OPTIONS,
    name: { value: 'NAME', help: 'the name of the project' },
    platform: {
      value: 'P',
      choices: PLATFORMS,
      help: 'mobile, web, desktop, ios, android or adroid',
    },
    ...CHANGE_OPTIONS,
  },
  async run({ till, options, output, io }) {
    const { project: id, name, platform, config, status } = options
    const change = { id, name, platform, config, status } satisfies Record<
      keyof ProjectChange,
      unknown
    >
    if ([name, platform, status, config].every((each) => each === undefined)) {
      throw new UsageError('Nothing to change: give --name, --platform, --config or --status')
    }
    const account = await accountOf(till, options)
    const project = await till.projects.update(account, change)
    output.record(project)
    warnOfStatus(io, status)
    await warnOfProject(till, io, account, project)
  },
})
