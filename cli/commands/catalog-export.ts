import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { PROJECT_OPTION } from '../options.ts'
import { printFile } from '../output.ts'
import { createOutputFile, databaseFiles } from '../output-file.ts'

export const catalogExport = command({
  name: 'catalog export',
  summary: 'Write a project with its stores and items as a catalog file',
  example: 'tillkit catalog export --project prj_1 --out catalog.json',
  options: {
    ...PROJECT_OPTION,
    out: { value: 'FILE', help: 'write to this file instead of standard output' },
  },
  async run({ till, options, output, db, io }) {
    const { project, out } = options
    if (output.json) throw new UsageError('catalog export writes JSON already: leave out --json')
    const file =
      out === undefined ? undefined : createOutputFile(io, '--out', out, databaseFiles(db))
    const account = await till.accounts.ownerOf(project)
    const text = till.catalog.export(account, { project_id: project })
    if (!file) return printFile(text, io.stdout)
    await file.write(text)
    io.stderr.write(`Exported the catalog to ${out}\n`)
  },
})
