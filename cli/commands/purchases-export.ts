import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { SELECTION_OPTIONS, STORE_OPTIONS, selectionOf } from '../options.ts'
import { printFile } from '../output.ts'
import { createOutputFile, databaseFiles } from '../output-file.ts'
import { createStatusLine } from '../progress.ts'

export const purchasesExport = command({
  name: 'purchases export',
  summary: 'Export the purchases of a store as CSV, which can be imported',
  example: 'tillkit purchases export --store main --from 2026-01-01 --out january.csv',
  options: {
    ...STORE_OPTIONS,
    ...SELECTION_OPTIONS,
    out: { value: 'FILE', help: 'write to this file instead of standard output' },
  },
  async run({ till, options, output, db, io }) {
    if (output.json) {
      throw new UsageError('purchases export writes CSV: use purchases list for --json')
    }
    const { out } = options
    const file =
      out === undefined ? undefined : createOutputFile(io, '--out', out, databaseFiles(db))
    const account = await till.accounts.get(options.account)
    const csv = till.purchases.export(account, { store_id: options.store, ...selectionOf(options) })
    if (!file) return printFile(csv, io.stdout)
    const line = createStatusLine(io.stderr)
    let purchases = -1 // the first chunk is the header, not a purchase
    const counted = async function* () {
      for await (const chunk of csv) {
        purchases++
        line.update(() => `exported: ${purchases.toLocaleString('en-US')}`)
        yield chunk
      }
    }
    await file.write(counted()).finally(line.end)
    const rows = purchases === 1 ? '1 purchase' : `${purchases.toLocaleString('en-US')} purchases`
    io.stderr.write(`Exported ${rows} to ${out}\n`)
  },
})
