import { command } from '../command.ts'
import { PAGE_OPTIONS, STORE_OPTIONS } from '../options.ts'

export const importsList = command({
  name: 'imports list',
  summary: 'List the imports into a store, oldest first',
  example: 'tillkit imports list --store main',
  options: { ...STORE_OPTIONS, ...PAGE_OPTIONS },
  async run({ till, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { store: store_id, limit, cursor } = options
    const page = await till.imports.list(account, { store_id, limit, cursor })
    if (output.json) return output.record(page)
    output.table(
      page.imports,
      'import_id created_at actor file_name rows added skipped updated undone_at'.split(' '),
      {
        actor: 'omit',
        skipped: 'omit',
        updated: 'omit',
        undone_at: 'omit',
        created_at: 'shorten',
        file_name: 'shorten',
      },
    )
    if (page.next) io.stderr.write(`There are more: --cursor ${page.next}\n`)
  },
})
