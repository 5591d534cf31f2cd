import { command } from '../command.ts'
import { CommandFailure } from '../command-errors.ts'
import { createElapsed } from '../progress.ts'

export const check = command({
  name: 'check',
  summary: 'Check the whole database for damage',
  example: 'tillkit check --db till-backup.db',
  options: {},
  async run({ till, output, io }) {
    const elapsed = createElapsed(io.stderr, 'Checking')
    const problems = await till.operations.check().finally(elapsed.end)
    if (output.json) output.record({ sound: problems.length === 0, problems })
    if (problems.length > 0) throw new CommandFailure(['Not sound:', ...problems].join('\n  '))
    output.line('The database is sound')
  },
})
