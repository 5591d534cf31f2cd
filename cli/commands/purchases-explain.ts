import { addAbortSignal } from 'node:stream'
import { type Explanation, excerpt } from '../../lib/index.ts'
import { command } from '../command.ts'
import { CommandFailure } from '../command-errors.ts'
import { openInput } from '../input-file.ts'
import { STORE_OPTIONS } from '../options.ts'
import { type Output, wrapLines } from '../output.ts'
import { createOutputFile } from '../output-file.ts'
import { hint, wordOf } from '../program.ts'
import { interruptible } from '../signals.ts'
import { formatJson } from '../text.ts'

export const purchasesExplain = command({
  name: 'purchases explain',
  summary: 'Propose a layout for a file of any shop; import nothing',
  example: 'tillkit purchases explain orders.csv --store main --out shop.json',
  operand: 'FILE|-',
  needsDatabaseFor: 'store',
  options: {
    ...STORE_OPTIONS,
    store: {
      ...STORE_OPTIONS.store,
      required: false,
      help: 'the store whose items and currency help to understand the file',
    },
    out: { value: 'FILE', help: 'write the layout to this file, for purchases import --layout' },
  },
  async run({ till, account, operand, input, inputs, output, db, io }) {
    const { stream } = openInput(operand, io)
    const { out, store_id } = input
    const file = out === undefined ? undefined : createOutputFile({ io, inputs }, '--out', out)
    const explanation = await interruptible(io, 'nothing was written', async (signal) => {
      addAbortSignal(signal, stream)
      return till.purchases.explain(account, { store_id, file: stream })
    })
    const { layout, missing, format } = explanation
    if (layout && file) await file.write(linesOf(layout))
    if (output.json) output.record(explanation)
    else {
      const print = (text: string) => output.line(wrapLines(text, io.stdout))
      const name = operand === '-' ? 'FILE' : wordOf(operand)
      const command = `purchases import ${name} --store ${store_id ?? 'ID'}`
      printExplanation(output, print, explanation, { command, out, db })
    }
    if (missing) {
      const reasons = missing.map(({ field, reason }) => `${field}: ${reason}`)
      throw new CommandFailure(`No layout can be proposed. ${reasons.join('; ')}`)
    }
    if (!layout && file) throw new CommandFailure(`${out} was not written: ${readBy(format)}`)
  },
})

/** Samples are cut, to leave room for three on a terminal of 80 columns. */
const SAMPLE = 20

async function* linesOf(layout: object): AsyncGenerator<string> {
  yield `${formatJson(layout)}\n`
}

function readBy(format: string): string {
  return format === 'canonical'
    ? 'an import reads the file as it is'
    : `the preset ${format} reads the file`
}

function printExplanation(
  output: Output,
  print: (text: string) => void,
  { columns, layout, questions, remarks, rows, is_partial, header_line, format }: Explanation,
  {
    command,
    out,
    db,
  }: { readonly command: string; readonly out: string | undefined; readonly db: string },
): void {
  const shown = columns.map(({ column, field, seems, samples }) => {
    const text = field ? `${field}: ${seems}` : seems
    return {
      column,
      'seems to be': text,
      samples: samples.map((each) => excerpt(each, SAMPLE)).join(' | '),
    }
  })
  output.table(shown, ['column', 'seems to be', 'samples'], ['column…', 'samples…', 'seems to be…'])
  print('')
  const count = rows.toLocaleString('en-US')
  const read = is_partial
    ? `The first ${count} rows were read; the file has more.`
    : `Rows: ${count}.`
  print(`${read} The header is line ${header_line}.`)
  if (format !== 'layout') print(`No layout is needed: ${readBy(format)}.`)
  if (layout && out === undefined) {
    print('\nThe layout:')
    output.line(formatJson(layout))
  }
  if (questions.length > 0) print('\nWhat the file cannot tell:')
  for (const [i, each] of questions.entries()) {
    print(`${i + 1}. ${each.about}: ${each.question}`)
    print(`   In the layout: ${each.default}`)
  }
  if (remarks.length > 0) print('\nAlso:')
  for (const remark of remarks) print(`- ${remark}`)
  if (!layout) return
  const file = out ?? 'layout.json'
  print(
    out === undefined
      ? '\nTo write it to a file, add --out layout.json.'
      : `\nThe layout is in ${out}.`,
  )
  print(`Then: ${hint(`${command} --layout ${wordOf(file)} --dry-run`, db)}`)
}
