import type { PassedOver, PassedOverCount } from '../../domain/import.ts'

const MAX_REASONS = 20

/**
 * Counts the rows that are passed over. Rows with the same reason and app must have the same object
 * as their reason.
 */
export function createPassedOver() {
  const counts = new Map<PassedOver, number>()
  return {
    add(reason: PassedOver, rows = 1) {
      if (rows > 0) counts.set(reason, (counts.get(reason) ?? 0) + rows)
    },
    /** Returns at most 20 counts, highest first. Adds up the others. */
    list(): PassedOverCount[] {
      const all = [...counts].map(([reason, rows]) => ({ ...reason, rows }))
      // Apps are many, so the other reasons come first.
      const isApp = ({ app }: PassedOver) => (app === undefined ? 0 : 1)
      all.sort((a, b) => isApp(a) - isApp(b) || b.rows - a.rows)
      if (all.length <= MAX_REASONS) return all
      const rows = all.slice(MAX_REASONS).reduce((sum, each) => sum + each.rows, 0)
      return [...all.slice(0, MAX_REASONS), { reason: 'others', rows }]
    },
  }
}
