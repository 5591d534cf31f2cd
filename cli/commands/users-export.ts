import { command } from '../command.ts'
import { accountOf, PROJECT_OPTIONS } from '../options.ts'
import { printFile } from '../output.ts'
import { createOutputFile, databaseFiles } from '../output-file.ts'

export const usersExport = command({
  name: 'users export',
  summary: 'Export everything stored about a user, as one JSON document',
  example: 'tillkit users export player-1 --project prj_1 --out player-1.json',
  operand: 'USER',
  options: {
    ...PROJECT_OPTIONS,
    out: { value: 'FILE', help: 'write to this file instead of standard output' },
  },
  async run({ till, operand, options, db, io }) {
    const { out, project } = options
    const file =
      out === undefined ? undefined : createOutputFile(io, '--out', out, databaseFiles(db))
    const account = await accountOf(till, options)
    const document = till.users.export(account, { project_id: project, user_id: operand })
    if (!file) return printFile(document, io.stdout)
    await file.write(document)
    io.stderr.write(`Exported the user to ${out}\n`)
  },
})
