import { command } from '../command.ts'
import { confirm } from '../confirm.ts'
import { OUT_OPTION, PROJECT_OPTIONS } from '../options.ts'
import { createExport } from '../output-file.ts'
import { createStatusLine } from '../progress.ts'

export const userCommands = [
  command({
    name: 'users export',
    summary: 'Export everything stored about a user, as one JSON document',
    example: 'tillkit users export player-1 --project prj_1 --out player-1.json',
    operand: 'USER',
    options: { ...PROJECT_OPTIONS, ...OUT_OPTION },
    async run({ till, account, operand, options, inputs, io }) {
      const write = createExport({ io, inputs }, options.out)
      const user = { project_id: options.project, user_id: operand }
      await write(till.users.export(account, user), () => 'the user')
    },
  }),

  command({
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
        await confirm(io, 'An erasure cannot be undone', question, operand)
      }
      const line = createStatusLine(io.stderr)
      const user = { project_id: project, user_id: operand, delete: deletes }
      const onProgress = (purchases: number) =>
        line.update(() => `purchases erased: ${purchases.toLocaleString('en-US')}`)
      const erased = await till.users.erase(account, user, { onProgress }).finally(line.end)
      output.record({ ...erased, deleted: Boolean(deletes) })
      if (!erased.found)
        io.stderr.write('Nothing is stored of this user. Check the id and --project\n')
    },
  }),
]
