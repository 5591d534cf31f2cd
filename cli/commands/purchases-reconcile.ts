import { addAbortSignal, Readable } from 'node:stream'
import {
  DIFFERENCES,
  formatDifferences,
  formatPassedOver,
  type LayoutFile,
  type Reconciliation,
  TillError,
} from '../../lib/index.ts'
import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { confirm } from '../confirm.ts'
import { formatTotal } from '../import-totals.ts'
import { openInput } from '../input-file.ts'
import { READING_OPTIONS, STORE_OPTIONS } from '../options.ts'
import type { Output } from '../output.ts'
import { createOutputFile } from '../output-file.ts'
import { createProgress } from '../progress.ts'
import { interruptible } from '../signals.ts'
import { createUnknownSkus } from '../unknown-skus.ts'

export const purchasesReconcile = command({
  name: 'purchases reconcile',
  summary: "Compare the stored purchases with a vendor's file, over the file's period",
  description:
    'Changes nothing, unless you give --cancel-missing. The exit code is 1 when anything differs. An incomplete file marks honest players: never run --cancel-missing by a timer.',
  example: 'tillkit purchases reconcile sales.csv --store main --report differences.csv',
  operand: 'FILE|-',
  options: {
    ...STORE_OPTIONS,
    from: { value: 'TIME', help: 'the start of the period; only google_play_sales needs none' },
    to: { value: 'TIME', help: 'the end of the period: before this time or day' },
    ...READING_OPTIONS,
    report: {
      value: 'FILE',
      help: 'write the first 1,000 differences of each kind to this CSV file',
    },
    'cancel-missing': {
      help: 'cancel the purchases that the file lacks, as one import that can be undone',
    },
    yes: { help: 'do not ask; required without a terminal' },
  },
  async run({ till, account, operand, input, inputs, output, io }) {
    const { report: path, cancel_missing: cancels, yes, map, ...request } = input
    const { store_id } = request
    if (cancels && operand === '-') {
      throw new UsageError('--cancel-missing needs a file: standard input is read only once')
    }
    const report = path && createOutputFile({ io, inputs }, '--report', path)
    const reconcile = (cancel_missing?: number) =>
      interruptible(io, 'nothing was changed', async (signal) => {
        const { stream, size } = openInput(operand, io)
        addAbortSignal(signal, stream)
        const unknown = createUnknownSkus()
        const progress = createProgress(io.stderr, size)
        try {
          return await till.purchases.reconcile(account, {
            ...request,
            file: stream,
            fileName: operand === '-' ? undefined : operand,
            layout: request.layout as LayoutFile | undefined, // validated by the library
            map: map && Object.fromEntries(map),
            onProgress: progress.update,
            onMistake: unknown.add,
            cancel_missing,
            signal,
          })
        } catch (error) {
          progress.end()
          if (output.json || !(error instanceof TillError)) throw error
          throw await unknown.summarize(error, till, account, store_id)
        } finally {
          progress.end()
        }
      })

    const found = await reconcile()
    if (report) {
      await report.write(Readable.from(formatDifferences(found.differences)))
      io.stderr.write(`Wrote the differences to ${path}\n`)
    }
    if (!output.json) printReconciliation(output, found)
    const missing = found.differences.find(({ kind }) => kind === 'missing_in_file')
    const isCancelled = cancels && missing !== undefined
    if (isCancelled && !yes) {
      const purchases = counted(missing.purchases)
      const period = `from ${dayOf(found.from)} to ${dayOf(found.to)}`
      const warning = `This cancels ${purchases} of the store ${store_id}, ${period}`
      await confirm(io, warning, 'Type yes to continue', 'yes')
    }
    const result = isCancelled ? await reconcile(missing.purchases) : found
    if (output.json) output.record(result)
    else if (result.import_id) {
      output.line(`\nCancelled: ${result.cancelled}. To undo it: imports undo ${result.import_id}`)
    }
    const left = result.differences.filter((group) => !isCancelled || group.kind !== missing.kind)
    if (left.length > 0) throw new CommandFailure('')
  },
})

function printReconciliation(output: Output, found: Reconciliation): void {
  const { differences, passed_over, passed_over_reasons, ...others } = found
  if (passed_over > 0) output.line(formatPassedOver(passed_over, passed_over_reasons))
  output.record(others)
  for (const line of describeLimits(others)) output.line(line)
  output.line(differences.length === 0 ? '\nNothing differs in what was compared.' : '')
  if (differences.length === 0) return
  for (const { kind, purchases } of differences) {
    output.line(`${kind}: ${counted(purchases)} ${DIFFERENCES[kind]}`)
  }
  output.line('')
  const rows = differences.flatMap(({ kind, totals }) =>
    totals.map(({ currency, purchases, stored_total, file_total }) => ({
      difference: kind,
      currency,
      purchases,
      stored: formatTotal(stored_total, currency),
      file: formatTotal(file_total, currency),
    })),
  )
  output.table(rows, ['difference', 'currency', 'purchases', 'stored', 'file'])
}

type Counts = Omit<Reconciliation, 'differences' | 'passed_over' | 'passed_over_reasons'>

/** Says in sentences which purchases and columns were not compared. */
function* describeLimits(found: Counts): Generator<string> {
  const { judged, unjudged, near_ends, compared, compared_amounts, compared_users } = found
  if (judged === 0) yield 'No stored purchase was looked for in the file.'
  if (unjudged > 0) {
    const others = unjudged - near_ends
    yield `Not judged: ${counted(unjudged)} that the file lacks`
    if (near_ends > 0) yield `  within two days of the ends of the period: ${near_ends}`
    if (others > 0) yield `  pending, refunded, cancelled, free, or gifts: ${others}`
  }
  if (compared === 0) yield 'No row was compared with a stored purchase.'
  else if (compared_amounts === 0) yield 'No amount was compared.'
  if (compared > 0 && compared_users === 0) yield 'No user was compared.'
}

function counted(purchases: number): string {
  return purchases === 1 ? '1 purchase' : `${purchases.toLocaleString('en-US')} purchases`
}

function dayOf(time: string): string {
  return time.slice(0, 10)
}
