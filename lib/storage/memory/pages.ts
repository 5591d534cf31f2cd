import { recordPage } from '../pages.ts'
import type { Page, RecordPage } from '../port.ts'

/** Reads a page of a list that only grows. The cursor is the number of records before the page. */
export function pageOf<T>(
  all: readonly T[],
  page: Page,
  textOf: (record: T) => number = () => 0,
  maxText?: number,
): RecordPage<T> {
  const start = Number(page.after ?? 0)
  const rows = all
    .slice(start, start + page.limit + 1)
    .map((record, i) => ({ record, end: start + i + 1 }))
  return recordPage(
    rows,
    page,
    ({ record }) => structuredClone(record),
    ({ end }) => end,
    ({ record }) => textOf(record),
    maxText,
  )
}

/** Reads a page of records that are sorted by the UTF-8 bytes of their keys. */
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
