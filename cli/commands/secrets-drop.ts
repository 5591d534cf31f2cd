import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { wholeNumber } from '../option-values.ts'

export const secretsDrop = command({
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
    const { operations } = till
    const found = await operations.listUnreadableSecrets()
    const isConfirmed = options.confirm === found.length
    // Without unreadable secrets, only deletes a check value of the master key that nothing needs.
    const isDropping = isConfirmed || found.length === 0
    const secrets = isDropping ? await operations.dropUnreadableSecrets() : found
    if (output.json) output.record({ dropped: isConfirmed, secrets })
    else
      output.table(secrets, ['project_id', 'store_id', 'field', 'account_id'], {
        account_id: 'omit',
      })
    if (isConfirmed) return output.line(`Dropped: ${secrets.length}`)
    if (found.length === 0) return
    const confirmation = `--confirm ${found.length}`
    throw new CommandFailure(
      `Nothing was dropped. Is their master key lost? ${confirmation} drops these secrets`,
    )
  },
})
