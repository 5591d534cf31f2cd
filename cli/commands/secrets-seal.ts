import { command, Refusal, UsageError } from '../command.ts'

export const secretsSeal = command({
  name: 'secrets seal',
  summary: 'Seal all stored secrets under the newest master key',
  options: {},
  async run({ till, config, output }) {
    if (config.masterKeys.length === 0) throw new UsageError('TILLKIT_MASTER_KEY is not set')
    const result = await till.operations.sealSecrets()
    output.record(result)
    if (result.unreadable > 0) {
      throw new Refusal(
        'Some secrets no master key that is set opens: they are as they were. ' +
          'Which ones: tillkit secrets drop',
      )
    }
  },
})
