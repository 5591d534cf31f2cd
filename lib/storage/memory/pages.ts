import { recordPage } from '../pages.ts'
import type { Page, RecordPage } from '../port.ts'

/** A page of a list to which records are only appended. Its cursor is the number of those before. */
export function pageOf<T>(
  all: readonly T[],
  page: Page,
  textOf: (record: T) => number = () => 0,
): RecordPage<T> {
  const start = Number(page.after ?? 0)
  const rows = all.slice(start).map((record, i) => ({ record, end: start + i + 1 }))
  return recordPage(
    rows,
    page,
    ({ record }) => structuredClone(record),
    ({ end }) => end,
    ({ record }) => textOf(record),
  )
}

/** A page of records sorted by the UTF-8 bytes of their keys. */
export function sortedPageOf<T>(
  all: readonly T[],
  page: Page,
  keyOf: (record: T) => string,
): RecordPage<T> {
  const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
  const { after } = page
  const left = after === undefined ? all : all.filter((each) => compare(keyOf(each), after) > 0)
  const sorted = left.toSorted((a, b) => compare(keyOf(a), keyOf(b)))
  return recordPage(sorted, page, (record) => structuredClone(record), keyOf)
}
