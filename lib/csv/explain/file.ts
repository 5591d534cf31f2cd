import { trimBlanks } from '../../domain/blanks.ts'
import { parseObject } from '../../domain/fields.ts'
import type { PurchaseRules } from '../../domain/purchase.ts'
import { TillError } from '../../errors.ts'
import { findLayout } from '../find-layout.ts'
import { CANONICAL } from '../format.ts'
import type { LayoutOptions } from '../layout.ts'
import type { LayoutFile } from '../layout-file.ts'
import { layoutFields } from '../options.ts'
import { createCsvParser } from '../parser.ts'
import { createPurchaseParser } from '../purchase-parser.ts'
import type { Shop, Table } from './columns.ts'
import { countOf } from './draft.ts'
import { findHeader } from './header.ts'
import type { Explanation } from './interface.ts'
import { propose } from './proposal.ts'
import { MAX_ROWS, type Sample } from './sample.ts'

interface ExplainOptions extends Shop {
  readonly rules: PurchaseRules
  readonly layout: LayoutOptions
}

const CHUNK_BYTES = 16 * 1024

/**
 * Explains the first rows of a file. Yields often: the caller lets others run meanwhile. Throws
 * `invalid_purchases` for a file that is no CSV file, or a report that cannot be imported.
 */
export function* explainFile(
  sample: Sample,
  options: ExplainOptions,
): Generator<undefined, Explanation> {
  const names = yield* findHeader(readFirstLines(sample))
  if (!names)
    throw refusal(1, 'No line has names of columns, separated by commas, semicolons or tabs')
  const { line, hasMore, ...table } = yield* readTable(sample, names)
  if (table.rows.length === 0) throw refusal(line, 'The file has no row that can be read')
  const known = findKnown(table.header, options.layout)
  const about = {
    header_line: line,
    rows: table.rows.length,
    is_partial: sample.isPartial || hasMore,
  }
  const { is_sandbox } = options.layout
  const proposal = yield* propose(table, { ...options, is_sandbox })
  const { columns, ...found } = proposal
  const above = line > 1 ? [`Remove the ${countOf(line - 1, 'line')} above the header`] : []
  if (known !== undefined && known !== CANONICAL.name) {
    const shown = columns.map(({ field: _, ...column }) => column)
    return { format: known, ...about, columns: shown, questions: [], remarks: above }
  }
  const canonical = known === undefined ? undefined : yield* verify(sample, undefined, options)
  const fields = Object.keys(found.layout?.columns ?? {})
  // The canonical format neither numbers ids nor passes over test orders.
  const { columns: named, number_repeats = false, skip = {} } = found.layout ?? {}
  const hasTests =
    Object.keys(skip).some((name) => name !== named?.sku && name !== named?.status) ||
    found.questions.some(({ about }) => about === 'skip')
  const isCanonical =
    !number_repeats &&
    !hasTests &&
    canonical?.mistakes === 0 &&
    fields.every((field) => canonical.fields.has(field))
  if (isCanonical) {
    const remarks = found.remarks.filter((each) => !each.includes('The layout has:'))
    return { format: CANONICAL.name, ...about, columns, questions: [], remarks }
  }
  if (!found.layout) {
    const remarks = [...found.remarks, ...(canonical?.remarks ?? [])]
    return { format: 'layout', ...about, columns, ...found, remarks }
  }
  const checked = yield* verify(sample, found.layout, options)
  const remarks = [...found.remarks, ...checked.remarks]
  return { format: 'layout', ...about, columns, ...found, remarks }
}

function refusal(line: number, message: string): TillError {
  const detail = { line, code: 'unsupported_file', message }
  return new TillError('invalid_purchases', '1 mistake in the file', [detail])
}

/** The cells of each of the first lines. */
function readFirstLines({ chunks }: Sample): readonly (readonly string[])[] {
  const lines: (readonly string[])[] = []
  const parser = createCsvParser({
    isHeader(cells) {
      lines.push(cells)
      return false
    },
    header() {},
    row() {},
    error({ line, code, message }) {
      if (code === 'unsupported_file') throw refusal(line, message)
    },
  })
  let room = HEAD_BYTES
  for (const chunk of chunks) {
    const part = chunk.subarray(0, room)
    parser.push(part)
    room -= part.length
    if (room === 0) break
  }
  if (lines.length === 0) parser.end()
  return lines
}

/** The most that the lines take among which a header is searched. */
const HEAD_BYTES = 64 * 1024

function* readTable({ chunks, isPartial }: Sample, names: readonly string[]) {
  const rows: string[][] = []
  let header: string[] = []
  let line = 1
  let hasMore = false
  const wanted = JSON.stringify(names)
  const parser = createCsvParser({
    isHeader: (cells) => JSON.stringify(cells) === wanted,
    header(cells, at) {
      header = cells.map(trimBlanks)
      line = at
    },
    row(cells) {
      if (rows.length < MAX_ROWS && rows.length * cells.length < MAX_CELLS) rows.push(cells)
      else hasMore = true
    },
    error() {},
  })
  yield* push(parser, chunks)
  if (!isPartial) parser.end()
  const table: Table = { header, rows }
  return { ...table, line, hasMore }
}

/** Of a wide file, fewer rows are examined. */
const MAX_CELLS = 1_000_000

function* push(
  parser: { push(chunk: Uint8Array): void },
  chunks: readonly Uint8Array[],
): Generator<undefined, void> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += CHUNK_BYTES) {
      parser.push(chunk.subarray(at, at + CHUNK_BYTES))
      yield
    }
  }
}

/** The preset that reads a header, or `canonical`. Throws for a report that cannot be imported. */
function findKnown(header: readonly string[], options: LayoutOptions): string | undefined {
  const found = findLayout(header, options)
  if ('read' in found) return found.name
  const report = found.find(({ code }) => code === 'unsupported_file')
  if (report) throw refusal(report.line ?? 1, report.message)
  return undefined
}

const NAMED_MISTAKES = 3

/** Reads the sample as an import would. Counts the rows and the mistakes. */
function* verify(
  { chunks, isPartial }: Sample,
  layout: LayoutFile | undefined,
  options: ExplainOptions,
) {
  const lines = new Set<number>()
  const messages = new Map<string, string>()
  let fields = new Set<string>()
  let rows = 0
  const format = parseObject({ layout }, { layout: layoutFields.layout }).layout
  const parser = createPurchaseParser(
    options.rules,
    { ...options.layout, ...(format && { layout: format }) },
    {
      layout(found) {
        fields = new Set(Object.keys(found.columns))
      },
      purchase: () => void rows++,
      leftOut() {},
      passedOver() {},
      error({ line = 1, column = '', message }) {
        if (lines.size < MAX_ROWS) lines.add(line)
        const key = `${column} ${message}`
        if (messages.size < NAMED_MISTAKES && !messages.has(key)) {
          messages.set(key, `Line ${line}${column ? `, ${column}` : ''}: ${message}`)
        }
      },
    },
  )
  yield* push(parser, chunks)
  if (!isPartial) parser.end()
  const mistakes = lines.size
  const remarks =
    mistakes === 0
      ? []
      : [
          `An import finds mistakes in ${countOf(mistakes, 'row')}, and none in ${countOf(rows, 'row')}`,
          ...messages.values(),
        ]
  return { mistakes, fields, rows, remarks }
}
