import { createReadStream, statSync } from 'node:fs'
import { command, UsageError } from '../command.ts'
import { createProgress } from '../progress.ts'

export const purchasesImport = command({
  name: 'purchases import',
  summary: 'Import a CSV file of past purchases: all rows or none',
  operand: 'FILE|-',
  options: {
    account: { value: 'ID', required: true, help: 'the account that owns the store' },
    store: { value: 'ID', required: true, help: 'the store' },
    'dry-run': { help: 'do all checks and keep nothing' },
  },
  async run({ till, operand, options, output }) {
    const account = await till.accounts.get(options.account)
    const { stream, size } = openFile(operand)
    const progress = createProgress(process.stderr, size)
    try {
      const result = await till.purchases.import(account, {
        store_id: options.store,
        file: stream,
        dry_run: options['dry-run'],
        onProgress: progress.update,
      })
      progress.end()
      output.record({ ...result, dry_run: options['dry-run'] })
    } finally {
      progress.end()
    }
  },
})

function openFile(operand: string): { stream: AsyncIterable<Uint8Array>; size: number } {
  if (operand === '-') return { stream: process.stdin, size: 0 }
  try {
    const stat = statSync(operand)
    if (stat.isDirectory()) throw new Error(`${operand} is a directory`)
    return { stream: createReadStream(operand), size: stat.size }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
