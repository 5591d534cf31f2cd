import { accessSync, constants, createReadStream, statSync } from 'node:fs'
import { addAbortSignal, type Readable } from 'node:stream'
import { formatAmount, type ImportResult, PRESET_NAMES } from '../../lib/index.ts'
import { command, UsageError } from '../command.ts'
import { interruptible } from '../interrupt.ts'
import { type Output, wrapList } from '../output.ts'
import { createProgress } from '../progress.ts'
import { createReport } from '../report.ts'
import { pair } from '../values.ts'

export const purchasesImport = command({
  name: 'purchases import',
  summary: 'Import a CSV file of past purchases: all rows or none',
  operand: 'FILE|-',
  options: {
    account: { value: 'ID', required: true, help: 'the account that owns the store' },
    store: { value: 'ID', required: true, help: 'the store' },
    'dry-run': { help: 'do all checks and keep nothing' },
    preset: { value: 'NAME', help: `${PRESET_NAMES.join(', ')}; found by the header if left out` },
    map: {
      value: 'FIELD=COLUMN',
      multiple: true,
      parse: pair,
      help: 'the file\'s name for a field\'s column: transaction_id="Order No"; may be repeated',
    },
    'price-unit': { value: 'UNIT', help: 'minor (499, the default) or major (4.99)' },
    report: { value: 'FILE', help: 'write the bad rows there, with what is wrong with each' },
  },
  async run({ till, operand, options, output, db }) {
    const { stream, size } = openFile(operand)
    const map = options.map && Object.fromEntries(options.map)
    const report =
      options.report === undefined ? undefined : createReport(operand, options.report, db)
    const account = await till.accounts.get(options.account)
    const progress = createProgress(process.stderr, size)
    await interruptible('nothing was imported', async (signal) => {
      addAbortSignal(signal, stream)
      try {
        const result = await till.purchases.import(account, {
          store_id: options.store,
          file: stream,
          dryRun: options['dry-run'],
          preset: options.preset,
          map,
          priceUnit: options['price-unit'] as 'minor' | 'major' | undefined,
          onProgress: progress.update,
          onMistake: report?.add ?? (() => {}),
        })
        progress.finish(result.rows)
        printResult(output, result, options['dry-run'])
      } finally {
        progress.end()
        if (!signal.aborted) await report?.write()
      }
    })
  },
})

function openFile(operand: string): { stream: Readable; size: number } {
  if (operand === '-') return { stream: process.stdin, size: 0 }
  try {
    accessSync(operand, constants.R_OK)
    const stat = statSync(operand)
    if (stat.isDirectory()) throw new Error(`${operand} is a directory`)
    return { stream: createReadStream(operand), size: stat.size }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function printResult(output: Output, result: ImportResult, dry_run: boolean): void {
  // The id of an import that was not kept leads nowhere.
  const { import_id, ...summary } = result
  const shown = dry_run ? summary : { import_id, ...summary }
  if (output.json) {
    output.record({ ...shown, dry_run })
    return
  }
  const { totals, ignored_columns, ...counts } = shown
  output.line(dry_run ? 'Dry run: nothing was kept.' : formatOutcome(result))
  output.record(counts)
  const rows = totals.map(({ total, currency, ...group }) => ({
    ...group,
    currency,
    total: currency === '' ? '' : formatAmount(total, currency),
  }))
  output.table(rows, ['status', 'currency', 'rows', 'total'])
  if (ignored_columns.length > 0) output.line(wrapList('Not stored', ignored_columns))
}

function formatOutcome({ added, updated, skipped }: ImportResult): string {
  if (added + updated > 0) return 'All rows are in.'
  if (skipped === 0) return 'There was no row to import.'
  const were = skipped === 1 ? '1 row was' : `${skipped.toLocaleString('en-US')} rows were`
  return `Nothing new: ${were} there already.`
}
