import { command } from '../command.ts'
import { confirm } from '../confirm.ts'
import { printTotals } from '../import-totals.ts'
import { ACCOUNT_OPTION, PAGE_OPTIONS, STORE_OPTIONS } from '../options.ts'

const importsList = command({
  name: 'imports list',
  summary: 'List the imports into a store, oldest first',
  example: 'tillkit imports list --store main',
  options: { ...STORE_OPTIONS, ...PAGE_OPTIONS },
  async run({ till, account, options, output, io }) {
    const { store: store_id, limit, cursor } = options
    const page = await till.imports.list(account, { store_id, limit, cursor })
    if (output.json) return output.record(page)
    output.table(
      page.imports,
      'import_id created_at actor file_name rows added skipped updated undone_at'.split(' '),
      ['actor', 'skipped', 'updated', 'undone_at', 'created_at…', 'file_name…'],
    )
    if (page.next) io.stderr.write(`There are more: --cursor ${page.next}\n`)
  },
})

const importsShow = command({
  name: 'imports show',
  summary: 'Show an import: who, when, which file, counts and totals',
  example: 'tillkit imports show imp_01J8Z3 --json',
  operand: 'ID',
  options: ACCOUNT_OPTION,
  async run({ till, account, operand, output }) {
    const found = await till.imports.get(account, operand)
    if (output.json) return output.record(found)
    const { totals = [], ...record } = found
    output.record(record)
    printTotals(output, totals)
  },
})

const importsUndo = command({
  name: 'imports undo',
  summary: 'Remove the rows of an import and restore the statuses it changed',
  example: 'tillkit imports undo imp_01J8Z3 --yes',
  operand: 'ID',
  options: {
    ...ACCOUNT_OPTION,
    force: { help: 'remove rows too that a later import skipped as already present' },
    yes: { help: 'do not ask; required without a terminal' },
  },
  async run({ till, account, operand: import_id, options, output, io }) {
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

export const importCommands = [importsList, importsShow, importsUndo]
