import { command } from '../command.ts'
import { createOutputFile, databaseFiles } from '../output-file.ts'
import { createElapsed } from '../progress.ts'
import { formatValue } from '../text.ts'

export const backup = command({
  name: 'backup',
  summary: 'Copy the database into a new file, also while a server runs',
  example: 'tillkit backup till-backup.db',
  operand: 'FILE',
  options: {},
  async run({ till, operand, output, db, io }) {
    createOutputFile(io, 'FILE', operand, databaseFiles(db))
    const elapsed = createElapsed(io.stderr, 'Copying')
    await till.operations.backup(operand).finally(elapsed.end)
    output.record({ backup: operand })
    const files = databaseFiles(db).map(formatValue).join(', ')
    output.line(
      `To restore it: stop the servers, move ${files} away (if they exist), copy the backup to ${formatValue(db)}, start the servers`,
    )
  },
})
