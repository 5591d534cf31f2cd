import type { PassedOver, PassedOverCount } from './import.ts'
import type { UnequalCount } from './purchase.ts'

const REASONS: Record<PassedOver['reason'], string> = {
  other_app: 'of other apps',
  other_environment: 'of the other environment (test or live)',
  no_sku: 'without a SKU',
  unpaid: 'not paid',
  partial_refund: 'partly refunded',
  left_out: 'left out by the SKU map',
  skipped: 'skipped by the layout',
  not_stored: 'without a stored purchase',
  not_later: 'whose status is not later',
  others: 'of other apps', // the other reasons are fewer than 20, and come first
}

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

const VALUES: Record<UnequalCount['field'], string> = {
  user_id: 'a user',
  price: 'a price',
  currency: 'a currency',
  expires_at: 'an end',
}

/** Formats how many rows have a value that the stored purchase does not have. */
export function formatUnequal({ field, stored, rows }: UnequalCount): string {
  const have = rows === 1 ? '1 row has' : `${rows.toLocaleString('en-US')} rows have`
  if (stored === 'different') {
    return `${have} ${VALUES[field]} that differs from the stored one, which stays`
  }
  return `${have} ${VALUES[field]} that the stored purchase lacks: undo that import and import again`
}
