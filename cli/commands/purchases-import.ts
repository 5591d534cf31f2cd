import { basename } from 'node:path'
import { addAbortSignal } from 'node:stream'
import {
  formatFuture,
  formatPassedOver,
  formatRepeated,
  formatUnequal,
  formatUnpriced,
  type ImportResult,
  type LayoutFile,
  TillError,
} from '../../lib/index.ts'
import { command } from '../command.ts'
import { createErrorReport } from '../error-report.ts'
import { printTotals } from '../import-totals.ts'
import { openInput } from '../input-file.ts'
import { READING_OPTIONS, STORE_OPTIONS } from '../options.ts'
import { type Output, wrapList } from '../output.ts'
import { createProgress } from '../progress.ts'
import { interruptible } from '../signals.ts'
import { createSkusTemplate } from '../skus-template.ts'
import { createUnknownSkus } from '../unknown-skus.ts'

export const purchasesImport = command({
  name: 'purchases import',
  summary: 'Import a CSV file of past purchases: all rows or none',
  example: 'tillkit purchases import purchases.csv --store main --dry-run',
  operand: 'FILE|-',
  options: {
    ...STORE_OPTIONS,
    'dry-run': { field: 'dryRun', help: 'check the file and store nothing' },
    ...READING_OPTIONS,
    'refunds-only': {
      field: 'refundsOnly',
      help: 'only advance the statuses of stored purchases, and compare only the ids',
    },
    undelivered: { help: 'the added purchases must still be delivered' },
    'skus-template': {
      value: 'FILE',
      help: 'import nothing; write the unknown SKUs to this new file, to fill in for --skus',
    },
    report: { value: 'FILE', help: 'write the bad rows and their mistakes to this CSV file' },
  },
  async run({ till, account, operand, input, inputs, output, io }) {
    const { stream, size } = openInput(operand, io)
    const { report: reportPath, skus_template: path, map, ...request } = input
    const { dryRun, store_id } = request
    const layout = input.layout as LayoutFile | undefined // validated by the library
    const writing = { io, inputs }
    const report =
      reportPath === undefined ? undefined : createErrorReport(writing, operand, reportPath, layout)
    const template = path === undefined ? undefined : createSkusTemplate(writing, path)
    // Text output names each unknown SKU once, JSON output for each row.
    const unknown = !output.json || template ? createUnknownSkus() : undefined
    let skus: readonly string[] = []
    const progress = createProgress(io.stderr, size)
    await interruptible(io, 'nothing was imported', async (signal) => {
      addAbortSignal(signal, stream)
      try {
        const result = await till.purchases.import(account, {
          ...request,
          file: stream,
          fileName: operand === '-' ? undefined : basename(operand),
          dryRun: dryRun || template !== undefined,
          layout,
          map: map && Object.fromEntries(map),
          onProgress: progress.update,
          onMistake(mistake, sku) {
            report?.add(mistake)
            unknown?.add(mistake, sku)
          },
        })
        progress.finish(result.rows)
        if (!template) printResult(output, result, dryRun)
      } catch (error) {
        progress.end()
        if (!unknown || !(error instanceof TillError)) throw error
        skus = template ? unknown.list() : []
        if (skus.length === 0) throw await unknown.summarize(error, till, account, store_id)
      } finally {
        progress.end()
        if (!signal.aborted) await report?.write()
      }
    })
    if (template) {
      await template.write(skus)
      output.record({ skus_template: path, skus: skus.length })
    }
  },
})

function printResult(output: Output, result: ImportResult, dry_run: boolean): void {
  const { import_id, ...summary } = result
  const shown = import_id === '' ? summary : { import_id, ...summary }
  if (output.json) {
    output.record({ ...shown, dry_run })
    return
  }
  const { totals, ignored_columns, passed_over_reasons, unequal, fitting_preset, ...rest } = shown
  const { repeated_lines, others: _, ...counts } = rest
  const { repeated, passed_over } = counts
  if (passed_over > 0) output.line(formatPassedOver(passed_over, passed_over_reasons))
  if (fitting_preset) {
    output.line(`The header fits a preset: --map extends it with --preset ${fitting_preset}`)
  }
  if (repeated > 0) output.line(formatRepeated(repeated, repeated_lines))
  output.line(dry_run ? 'Dry run: nothing was stored.' : formatOutcome(result))
  output.record(counts)
  printTotals(output, result)
  const warnings = [formatFuture(result, Date.now()), formatUnpriced(totals)]
  for (const warning of warnings) if (warning) output.line(warning)
  for (const each of unequal) output.line(formatUnequal(each))
  if (ignored_columns.length > 0) output.line(wrapList('Not stored', ignored_columns))
}

function formatOutcome({ added, updated, skipped, passed_over }: ImportResult): string {
  const other = passed_over > 0 ? 'other ' : ''
  if (added + updated > 0) return `All ${other}rows were imported.`
  if (skipped === 0) return `Nothing to import: the file has no ${other}rows.`
  const were = skipped === 1 ? '1 row was' : `${skipped.toLocaleString('en-US')} rows were`
  return `Nothing new: ${were} imported before.`
}
