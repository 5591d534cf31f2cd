/** The periods that the overview can show, and how it divides them. */
export const RANGES = [
  { name: 'days', label: 'Last 30 days', by: 'day', back: 29 },
  { name: 'weeks', label: 'Last 12 weeks', by: 'week', back: 11 },
  { name: 'months', label: 'Last 12 months', by: 'month', back: 11 },
  { name: 'all', label: 'All time', by: 'month', back: undefined },
] as const

export type Range = (typeof RANGES)[number]
export type Period = Range['by']

const DAY = 86_400_000

/** The first day of a range in UTC: `2026-01-01`; undefined for all time. */
export function startOf({ by, back }: Range, now: number): string | undefined {
  return back === undefined ? undefined : dayOf(shift(floor(now, by), by, -back))
}

/** The most periods of a chart: ten years. */
export const MAX_PERIODS = 120

/** All periods from one to another, as summaries name them, or the last ones if they are many. */
export function periodsBetween(first: string, last: string, by: Period): string[] {
  const found: string[] = []
  const end = Date.parse(last.length === 7 ? `${last}-01` : last)
  const earliest = shift(end, by, 1 - MAX_PERIODS)
  let start = Math.max(earliest, Date.parse(first.length === 7 ? `${first}-01` : first))
  for (; start <= end; start = shift(start, by, 1)) found.push(nameOf(start, by))
  return found
}

/** The period of a time, as summaries name it: `2026-01-31`, a Monday, or `2026-01`. */
export function nameOf(time: number, by: Period): string {
  return dayOf(floor(time, by)).slice(0, by === 'month' ? 7 : 10)
}

function floor(time: number, by: Period): number {
  const date = new Date(time)
  if (by === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
  const midnight = Math.floor(time / DAY) * DAY
  return by === 'day' ? midnight : midnight - ((date.getUTCDay() + 6) % 7) * DAY
}

function shift(start: number, by: Period, count: number): number {
  if (by !== 'month') return start + count * DAY * (by === 'week' ? 7 : 1)
  const date = new Date(start)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count)
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
