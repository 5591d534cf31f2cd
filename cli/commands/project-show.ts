import { command } from '../command.ts'
import { accountOf, PROJECT_OPTIONS } from '../options.ts'

export const projectShow = command({
  name: 'project show',
  summary: 'Show a project with its public key',
  example: 'tillkit project show --project prj_1',
  options: PROJECT_OPTIONS,
  async run({ till, options, output }) {
    output.record(await till.projects.get(await accountOf(till, options), options.project))
  },
})
