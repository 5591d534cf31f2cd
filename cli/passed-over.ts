import type { PassedOver, PassedOverCount } from '../lib/index.ts'

const REASONS: Record<PassedOver['reason'], string> = {
  other_app: 'of other apps',
  other_environment: 'of the other environment (test or live)',
  no_sku: 'without a SKU',
  unpaid: 'not paid',
  partial_refund: 'partly refunded',
  left_out: 'left out by the SKU map',
  skipped: 'skipped by the layout',
  others: 'for other reasons',
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
