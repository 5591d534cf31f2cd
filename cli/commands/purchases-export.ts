import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { command } from '../command.ts'
import { FILTER_OPTIONS, filterOf } from '../filter.ts'

export const purchasesExport = command({
  name: 'purchases export',
  summary: 'Write the purchases of a store as a canonical CSV file, which imports again',
  options: {
    ...FILTER_OPTIONS,
    out: { value: 'FILE', help: 'write there, not to standard output' },
  },
  async run({ till, options }) {
    const account = await till.accounts.get(options.account)
    const csv = till.purchases.export(account, filterOf(options))
    if (options.out === undefined) await pipeline(csv, process.stdout, { end: false })
    else await writeWhole(csv, options.out)
  },
})

/** Under another name until it is whole: half an export must not be taken for one. */
async function writeWhole(csv: AsyncIterable<string>, path: string): Promise<void> {
  const part = `${path}.part`
  try {
    await pipeline(csv, createWriteStream(part))
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
