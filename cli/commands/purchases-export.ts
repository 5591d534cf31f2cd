import { pipeline } from 'node:stream/promises'
import { command, UsageError } from '../command.ts'
import { FILTER_OPTIONS, filterOf } from '../filter.ts'
import { createTarget, databaseFiles } from '../target.ts'

export const purchasesExport = command({
  name: 'purchases export',
  summary: 'Write the purchases of a store as CSV that imports again',
  options: {
    ...FILTER_OPTIONS,
    out: { value: 'FILE', help: 'write there, not to standard output' },
  },
  async run({ till, options, output, db }) {
    if (output.json) {
      throw new UsageError('purchases export writes CSV: take purchases list for --json')
    }
    const target =
      options.out === undefined ? undefined : createTarget('--out', options.out, databaseFiles(db))
    const account = await till.accounts.get(options.account)
    const csv = till.purchases.export(account, filterOf(options))
    if (target) await target.write(csv)
    else await pipeline(csv, process.stdout, { end: false })
  },
})
