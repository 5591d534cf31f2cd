import { type ImportSummary, type ImportTotal, type PassedOverCount, REASONS } from './import.ts'
import type { UnequalCount } from './repeat.ts'

/** Formats why rows were passed over: `104 rows passed over: 97 of other apps, 7 without a SKU`. */
export function formatPassedOver(total: number, counts: readonly PassedOverCount[]): string {
  const sums = new Map<string, number>()
  for (const { reason, rows } of counts) {
    sums.set(REASONS[reason], (sums.get(REASONS[reason]) ?? 0) + rows)
  }
  const named = [...sums].sort(([, a], [, b]) => b - a)
  const reasons = named.map(([reason, rows]) => `${rows.toLocaleString('en-US')} ${reason}`)
  const rows = total === 1 ? '1 row' : `${total.toLocaleString('en-US')} rows`
  return `${rows} passed over: ${reasons.join(', ')}`
}

/** Formats how many rows equal an earlier row, and the first of their lines. */
export function formatRepeated(repeated: number, lines: readonly number[]): string {
  const which = repeated === 1 ? '1 row repeats' : `${repeated.toLocaleString('en-US')} rows repeat`
  const more = repeated > lines.length ? ' and others' : ''
  const named = `${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${more}`
  return `Warning: ${which} an earlier row of the file, and count once: ${named}`
}

/** Formats how many rows have no price; undefined if all have one. */
export function formatUnpriced(totals: readonly ImportTotal[]): string | undefined {
  const rows = totals.reduce((sum, each) => sum + (each.currency === '' ? each.rows : 0), 0)
  if (rows === 0) return undefined
  const have = rows === 1 ? '1 row has' : `${rows.toLocaleString('en-US')} rows have`
  return `Warning: ${have} no price, and no sum counts them`
}

const DAY_MS = 86_400_000

/** Warns if the latest time of the rows is more than a day after `now`; else undefined. */
export function formatFuture(
  { last_purchased_at: last = '' }: Pick<ImportSummary, 'last_purchased_at'>,
  now: number,
): string | undefined {
  if (last === '' || Date.parse(last) <= now + DAY_MS) return undefined
  return `Warning: the latest purchase is in the future, at ${last}`
}

const VALUES: Record<UnequalCount['field'], string> = {
  user_id: 'a user',
  price: 'a price',
  currency: 'a currency',
  expires_at: 'an end',
  purchased_at: 'a time',
}

/** Formats how many rows have a value that the stored purchase does not have. */
export function formatUnequal({ field, stored, rows }: UnequalCount): string {
  const have = rows === 1 ? '1 row has' : `${rows.toLocaleString('en-US')} rows have`
  if (stored === 'different') {
    return `${have} ${VALUES[field]} that differs from the stored one, which stays`
  }
  return `${have} ${VALUES[field]} that the stored purchase lacks: this token fills nothing`
}
