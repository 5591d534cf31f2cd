import { command } from '../command.ts'
import { confirm } from '../confirm.ts'
import { ACCOUNT_OPTION } from '../options.ts'

export const importsUndo = command({
  name: 'imports undo',
  summary: 'Remove the rows of an import and restore the statuses it changed',
  example: 'tillkit imports undo imp_01J8Z3 --yes',
  operand: 'ID',
  options: {
    ...ACCOUNT_OPTION,
    force: { help: 'remove rows too that a later import skipped as already present' },
    yes: { help: 'do not ask; required without a terminal' },
  },
  async run({ till, operand: import_id, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { force, yes } = options
    if (!yes) {
      const { store_id, added = 0, updated = 0 } = await till.imports.get(account, import_id)
      const counts = `rows to remove: ${added}, statuses to restore: ${updated}`
      const warning = `An undo in the store ${store_id} (${counts})`
      await confirm(io, warning, 'Type yes to continue', 'yes')
    }
    const undone = await till.imports.undo(account, { import_id, force })
    const { store_id, added: removed, updated: restored, undone_at } = undone
    output.record({ import_id, store_id, removed, restored, undone_at })
  },
})
