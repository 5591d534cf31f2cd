import { type ErrorDetail, TillError } from '../../errors.ts'

/**
 * Throws one error with all mistakes of a catalog. `lines` has the line of each item of a spreadsheet,
 * by store and item. They then replace the JSON paths.
 */
export function assertNoMistakes(
  problems: readonly ErrorDetail[],
  lines: readonly (readonly number[])[] | undefined,
): void {
  if (problems.length === 0) return
  const lineOf = (store: string, item: string) => lines?.[Number(store)]?.[Number(item)] ?? 1
  const found = lines
    ? problems
        .map(({ field = '', message, ...rest }): ErrorDetail => {
          const [, store = '', item = '', column = ''] = ITEM_PATH.exec(field) ?? []
          const place = store === '' ? (rest.line ? {} : { field }) : { line: lineOf(store, item) }
          const text = message.replace(ITEM_PATH_IN_TEXT, (_, s, i) => `line ${lineOf(s, i)}`)
          return { ...place, ...(column === '' ? {} : { column }), ...rest, message: text }
        })
        .sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
    : problems
  const [first] = found
  const place =
    first?.line === undefined
      ? first?.field
      : `Line ${first.line}${first.column ? `, ${first.column}` : ''}:`
  const message =
    found.length === 1 ? `${place} ${first?.message}` : `The catalog has ${found.length} mistakes`
  throw new TillError('invalid_request', message, found)
}

const ITEM_PATH = /^\$\.stores\[(\d+)\]\.items\[(\d+)\]\.?(.*)$/
const ITEM_PATH_IN_TEXT = /\$\.stores\[(\d+)\]\.items\[(\d+)\]/
