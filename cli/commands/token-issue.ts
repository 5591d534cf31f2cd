import type { Scope } from '../../lib/index.ts'
import { command } from '../command.ts'
import { wholeNumber } from '../option-values.ts'
import { accountOf, PROJECT_OPTIONS } from '../options.ts'

export const tokenIssue = command({
  name: 'token issue',
  summary: 'Issue a token of a project, with any scopes',
  example: 'tillkit token issue --project prj_1 --scope purchases:import --lifetime 600',
  options: {
    ...PROJECT_OPTIONS,
    user: { value: 'ID', help: 'the user of the token; the project itself when left out' },
    scope: {
      value: 'S',
      multiple: true,
      choices: ['items:read', 'projects:write', 'purchases:import'],
      help: 'items:read, projects:write or purchases:import; may be repeated (default all)',
    },
    lifetime: {
      value: 'SECONDS',
      parse: wholeNumber(60, 86_400),
      help: 'how long it is valid, 60 to 86400 (default 3600)',
    },
  },
  async run({ till, options, output }) {
    const token = {
      project_id: options.project,
      user_id: options.user,
      scopes: options.scope as Scope[] | undefined, // the library validates the scopes
      lifetime: options.lifetime && options.lifetime * 1000,
    }
    const account = await accountOf(till, options)
    output.record(await till.sessions.issue(account, token))
  },
})
