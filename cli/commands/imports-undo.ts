import { command } from '../command.ts'
import { ACCOUNT_OPTION } from '../options.ts'

export const importsUndo = command({
  name: 'imports undo',
  summary: 'Remove the rows of an import and restore the statuses it changed',
  example: 'tillkit imports undo imp_01J8Z3',
  operand: 'ID',
  options: {
    ...ACCOUNT_OPTION,
    force: { help: 'remove rows too that a later import skipped as already present' },
  },
  async run({ till, operand, options, output }) {
    const account = await till.accounts.get(options.account)
    const { force } = options
    const { import_id, store_id, added, updated, undone_at } = await till.imports.undo(account, {
      import_id: operand,
      force,
    })
    output.record({ import_id, store_id, removed: added, restored: updated, undone_at })
  },
})
