import { command } from '../command.ts'
import { confirm } from '../confirm.ts'
import { printTotals } from '../import-totals.ts'
import { ACCOUNT_OPTION, PAGE_OPTIONS, STORE_OPTIONS } from '../options.ts'

export const importCommands = [
  command({
    name: 'imports list',
    summary: 'List the imports into a store, oldest first',
    example: 'tillkit imports list --store main',
    options: { ...STORE_OPTIONS, ...PAGE_OPTIONS },
    async run({ till, account, input, output }) {
      const page = await till.imports.list(account, input)
      output.page(
        page,
        page.imports,
        'import_id created_at actor file_name rows added skipped updated undone_at'.split(' '),
        ['actor', 'skipped', 'updated', 'undone_at', 'created_at…', 'file_name…'],
      )
    },
  }),

  command({
    name: 'imports show',
    summary: 'Show an import: who, when, which file, counts and totals',
    example: 'tillkit imports show imp_01J8Z3 --json',
    operand: 'ID',
    options: ACCOUNT_OPTION,
    async run({ till, account, operand, output }) {
      const found = await till.imports.get(account, operand)
      if (output.json) return found
      const { totals: _, others: __, ...record } = found
      output.record(record)
      return printTotals(output, found)
    },
  }),

  command({
    name: 'imports undo',
    summary: 'Remove the rows of an import and restore the purchases it changed',
    example: 'tillkit imports undo imp_01J8Z3 --yes',
    operand: 'ID',
    options: {
      ...ACCOUNT_OPTION,
      force: { help: 'undo rows too that later imports or recordings repeat or fill' },
      yes: { help: 'do not ask; required without a terminal' },
    },
    async run({ till, account, operand: import_id, options, output, io }) {
      const { force, yes } = options
      const found = await till.imports.get(account, import_id)
      if (found.undone_at !== undefined) {
        const { store_id, undone_at } = found
        output.line('The import is undone already.')
        return { import_id, store_id, removed: 0, restored: 0, undone_at }
      }
      if (!yes) {
        const { store_id, added = 0, updated = 0 } = found
        const counts = `rows to remove: ${added}, purchases to restore: ${updated}`
        const warning = `An undo in the store ${store_id} (${counts})`
        await confirm(io, warning, 'Type yes to continue', 'yes')
      }
      const undone = await till.imports.undo(account, { import_id, force })
      const { store_id, added: removed, updated: restored, undone_at } = undone
      return { import_id, store_id, removed, restored, undone_at }
    },
  }),
]
