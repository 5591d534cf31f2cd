import { command } from '../command.ts'
import { createTarget, databaseFiles } from '../target.ts'

export const backup = command({
  name: 'backup',
  summary: 'Copy the database into a new file, also while serving',
  operand: 'FILE',
  options: {},
  async run({ till, operand, output, db }) {
    createTarget('FILE', operand, databaseFiles(db))
    await till.operations.backup(operand)
    output.record({ backup: operand })
  },
})
