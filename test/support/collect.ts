import { type Page, type RecordPage, recordsOf } from '../../lib/storage/port.ts'

/** Collects all values of an iterable. */
export async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const each of all) collected.push(each)
  return collected
}

/** Collects the records of all pages. */
export function all<T>(read: (page: Page) => Promise<RecordPage<T>>): Promise<T[]> {
  return collect(recordsOf(read))
}

/** One field of each record. */
export function pluck<T, F extends keyof T>(records: readonly T[], field: F): T[F][] {
  return records.map((each) => each[field])
}
