import { MAX_MISTAKES } from '../../domain/catalog.ts'
import { type ErrorDetail, TillError } from '../../errors.ts'

/**
 * Throws one error with all mistakes of a catalog. `lines` has the line of each item of a spreadsheet,
 * by store and item. They then replace the JSON paths.
 */
export function assertNoMistakes(problems: readonly ErrorDetail[], lines: Lines | undefined): void {
  if (problems.length === 0) return
  const found = lines ? problems.map((each) => inLine(each, lines)).sort(byLine) : problems
  const [first] = found
  const message =
    found.length === 1 && first
      ? `${placeOf(first)} ${first.message}`
      : found.length < MAX_MISTAKES
        ? `The catalog has ${found.length} mistakes`
        : `The catalog has at least ${MAX_MISTAKES} mistakes`
  throw new TillError('invalid_request', message, found)
}

type Lines = readonly (readonly number[])[]

/** Names the line and the column of a mistake instead of its JSON path. */
function inLine({ field = '', message, ...rest }: ErrorDetail, lines: Lines): ErrorDetail {
  const lineOf = (store: string, item: string) => lines[Number(store)]?.[Number(item)] ?? 1
  const text = message.replace(ITEM_PATH_IN_TEXT, (_, s, i) => `line ${lineOf(s, i)}`)
  const [, store, item = '', column = ''] = ITEM_PATH.exec(field) ?? []
  if (store === undefined) return { ...(rest.line ? {} : { field }), ...rest, message: text }
  const line = lineOf(store, item)
  return { line, ...(column === '' ? {} : { column }), ...rest, message: text }
}

const byLine = (a: ErrorDetail, b: ErrorDetail) => (a.line ?? 0) - (b.line ?? 0)

function placeOf({ line, column, field }: ErrorDetail): string | undefined {
  if (line === undefined) return field
  return column ? `Line ${line}, ${column}:` : `Line ${line}:`
}

const ITEM_PATH = /^\$\.stores\[(\d+)\]\.items\[(\d+)\]\.?(.*)$/
const ITEM_PATH_IN_TEXT = /\$\.stores\[(\d+)\]\.items\[(\d+)\]/
