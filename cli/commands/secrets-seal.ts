import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { createElapsed } from '../progress.ts'

export const secretsSeal = command({
  name: 'secrets seal',
  summary: 'Seal all stored secrets under the newest master key',
  example: 'tillkit secrets seal',
  options: {},
  async run({ till, config, output, io }) {
    if (config.masterKeys.length === 0) throw new UsageError('TILLKIT_MASTER_KEY is not set')
    const elapsed = createElapsed(io.stderr, 'Sealing secrets')
    const result = await till.operations.sealSecrets().finally(elapsed.end)
    output.record(result)
    if (result.unreadable > 0) {
      throw new CommandFailure(
        'Some secrets were not changed, because no master key that is set opens them. ' +
          'To list them: tillkit secrets drop',
      )
    }
  },
})
