import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { wholeNumber } from '../option-values.ts'
import { PROJECT_OPTIONS } from '../options.ts'
import { hint } from '../program.ts'
import { withElapsed } from '../progress.ts'

export const tokenCommands = [
  command({
    name: 'token issue',
    summary: 'Issue a token of a project, with any scopes',
    example: 'tillkit token issue --project prj_1 --scope purchases:import --lifetime 600',
    options: {
      ...PROJECT_OPTIONS,
      user: { value: 'ID', help: 'the user of the token; the project itself when left out' },
      scope: {
        value: 'S',
        field: 'scopes',
        multiple: true,
        choices: ['items:read', 'projects:write', 'purchases:import'],
        help: 'items:read, projects:write or purchases:import; may be repeated (default items:read)',
      },
      lifetime: {
        value: 'SECONDS',
        field: 'ttl_seconds',
        parse: wholeNumber(60, 86_400),
        help: 'how long it is valid, 60 to 86400 (default 3600)',
      },
    },
    run: ({ till, account, input }) => till.sessions.issue(account, input),
  }),

  command({
    name: 'token revoke',
    summary: 'Revoke all tokens of a project or a user, at once',
    example: 'tillkit token revoke --project prj_1 --user player-1',
    options: { ...PROJECT_OPTIONS, user: { value: 'ID', help: 'only those of this user' } },
    async run({ till, account, input: { project_id, user_id } }) {
      await till.sessions.revoke(account, { project_id, user_id })
      return { project_id, user_id, revoked: true }
    },
  }),

  command({
    name: 'keys rotate',
    summary: 'Add a key that signs tokens, delete keys that no valid token needs',
    example: 'tillkit keys rotate',
    options: {
      'drop-others': {
        help: 'delete all other keys, because one has leaked; all tokens end within 5 seconds',
      },
    },
    run: ({ till, options }) =>
      till.operator.rotateSigningKeys({ drop: options['drop-others'] ? 'others' : 'unneeded' }),
  }),

  command({
    name: 'keys list',
    summary: 'List the keys that sign tokens, oldest first',
    example: 'tillkit keys list',
    options: {},
    async run({ till, output }) {
      const keys = await till.operator.listSigningKeys()
      output.page({ keys }, keys, ['kid', 'created_at'])
    },
  }),

  command({
    name: 'secrets seal',
    summary: 'Seal all stored secrets under the newest master key',
    example: 'tillkit secrets seal',
    options: {},
    async run({ till, config, output, db, io }) {
      if (config.masterKeys.length === 0) throw new UsageError('TILLKIT_MASTER_KEY is not set')
      const result = await withElapsed(io.stderr, 'Sealing secrets', till.operator.sealSecrets)
      output.record(result)
      if (result.unreadable > 0) {
        throw new CommandFailure(
          'Some secrets were not changed, because no master key that is set opens them. ' +
            `To list them: ${hint('secrets drop', db)}`,
        )
      }
    },
  }),

  command({
    name: 'secrets drop',
    summary: 'List the secrets that no master key opens, and delete them',
    example: 'tillkit secrets drop --confirm 3',
    options: {
      confirm: {
        value: 'N',
        parse: wholeNumber(1),
        help: 'the number of listed secrets: deletes them forever',
      },
    },
    async run({ till, options, config, output }) {
      // Without a master key, the command would list every encrypted secret as unreadable.
      if (config.masterKeys.length === 0) throw new UsageError('TILLKIT_MASTER_KEY is not set')
      const { operator } = till
      const found = await operator.listUnreadableSecrets()
      const isConfirmed = options.confirm === found.length
      // Without unreadable secrets, only deletes a check value of the master key that nothing needs.
      const isDropping = isConfirmed || found.length === 0
      const secrets = isDropping ? await operator.dropUnreadableSecrets() : found
      if (output.json) output.record({ dropped: isConfirmed, secrets })
      else output.table(secrets, ['project_id', 'store_id', 'field', 'account_id'], ['account_id'])
      if (isConfirmed) return output.line(`Dropped: ${secrets.length}`)
      if (found.length === 0) return
      const confirmation = `--confirm ${found.length}`
      throw new CommandFailure(
        `Nothing was dropped. Is their master key lost? ${confirmation} drops these secrets`,
      )
    },
  }),
]
