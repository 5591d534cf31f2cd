import { recordsOf } from '../../lib/storage/pages.ts'
import type { Page, RecordPage } from '../../lib/storage/port.ts'

/** All that an iterable gives. */
export async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const each of all) collected.push(each)
  return collected
}

/** The records of all pages. */
export function all<T>(read: (page: Page) => Promise<RecordPage<T>>): Promise<T[]> {
  return collect(recordsOf(read))
}
