import { command } from '../command.ts'
import { PROJECT_OPTION } from '../options.ts'

export const tokenRevoke = command({
  name: 'token revoke',
  summary: 'Revoke all tokens of a project or a user, at once',
  options: {
    ...PROJECT_OPTION,
    user: { value: 'ID', help: 'only those of this user' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.ownerOf(options.project)
    const revocation = { project_id: options.project, user_id: options.user }
    await till.sessions.revoke(account, revocation)
    output.record({ ...revocation, revoked: true })
  },
})
