import { command } from '../command.ts'
import { accountOf, PROJECT_OPTIONS } from '../options.ts'

export const tokenRevoke = command({
  name: 'token revoke',
  summary: 'Revoke all tokens of a project or a user, at once',
  example: 'tillkit token revoke --project prj_1 --user player-1',
  options: {
    ...PROJECT_OPTIONS,
    user: { value: 'ID', help: 'only those of this user' },
  },
  async run({ till, options, output }) {
    const account = await accountOf(till, options)
    const revocation = { project_id: options.project, user_id: options.user }
    await till.sessions.revoke(account, revocation)
    output.record({ ...revocation, revoked: true })
  },
})
