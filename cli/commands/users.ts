import { command } from '../command.ts'
import { confirm } from '../confirm.ts'
import { PROJECT_OPTIONS } from '../options.ts'
import { printFile } from '../output.ts'
import { createOutputFile, databaseFiles } from '../output-file.ts'
import { createStatusLine } from '../progress.ts'

const usersExport = command({
  name: 'users export',
  summary: 'Export everything stored about a user, as one JSON document',
  example: 'tillkit users export player-1 --project prj_1 --out player-1.json',
  operand: 'USER',
  options: {
    ...PROJECT_OPTIONS,
    out: { value: 'FILE', help: 'write to this file instead of standard output' },
  },
  async run({ till, account, operand, options, db, io }) {
    const { out, project } = options
    const file =
      out === undefined ? undefined : createOutputFile(io, '--out', out, databaseFiles(db))
    const document = till.users.export(account, { project_id: project, user_id: operand })
    if (!file) return printFile(document, io.stdout)
    await file.write(document)
    io.stderr.write(`Exported the user to ${out}\n`)
  },
})

const usersErase = command({
  name: 'users erase',
  summary: 'Erase a user from all records of a project; repeat it if it is interrupted',
  example: 'tillkit users erase player-1 --project prj_1 --yes',
  operand: 'USER',
  options: {
    ...PROJECT_OPTIONS,
    delete: { help: 'also delete the purchases, which else keep their amounts' },
    yes: { help: 'do not ask; required without a terminal' },
  },
  async run({ till, account, operand, options, output, io }) {
    const { project, delete: deletes } = options
    if (!options.yes) {
      const question = 'Type the id of the user to erase'
      await confirm(io, 'An erasure can not be undone', question, operand)
    }
    const line = createStatusLine(io.stderr)
    const user = { project_id: project, user_id: operand }
    const onProgress = (purchases: number) =>
      line.update(() => `purchases erased: ${purchases.toLocaleString('en-US')}`)
    const erased = await till.users
      .erase(account, user, { delete: deletes, onProgress })
      .finally(line.end)
    output.record({ ...erased, deleted: Boolean(deletes) })
    if (!erased.found)
      io.stderr.write('Nothing is stored of this user. Check the id and --project\n')
  },
})

export const userCommands = [usersExport, usersErase]
