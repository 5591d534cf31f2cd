import { command } from '../command.ts'

export const tokenRevoke = command({
  name: 'token revoke',
  summary: 'End all tokens of a project or a user, at once',
  options: {
    project: { value: 'ID', required: true, help: 'the project' },
    user: { value: 'ID', help: 'only those of this user' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.ownerOf(options.project)
    const revocation = { project_id: options.project, user_id: options.user }
    await till.sessions.revoke(account, revocation)
    output.record({ ...revocation, revoked: true })
  },
})
