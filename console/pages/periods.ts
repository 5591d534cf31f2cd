import type { Place } from '../place.ts'

/** The periods that the overview can show, and how it divides them. */
export const RANGES = [
  { name: 'days', label: 'Last 30 days', by: 'day', back: 30 },
  { name: 'weeks', label: 'Last 12 weeks', by: 'week', back: 12 },
  { name: 'months', label: 'Last 12 months', by: 'month', back: 12 },
  { name: 'all', label: 'All time', by: 'month', back: undefined },
  { name: 'custom', label: 'Custom…', by: 'day', back: undefined },
] as const

export type Period = (typeof RANGES)[number]['by']

const DAY = 86_400_000

/** The days to show in UTC, and the days before, of the same length. `to` is the day after. */
export interface Span {
  readonly name: string
  readonly by: Period
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly before?: { readonly from: string; readonly to: string }
}

/** The span that the query of the overview names. */
export function spanOf({ range, from, to }: Place['query'], now: number): Span {
  const { name, by, back } = RANGES.find((each) => each.name === range) ?? RANGES[2]
  if (name === 'all') return { name, by }
  const tomorrow = floor(now, 'day') + DAY
  if (back !== undefined) {
    const start = shift(floor(now, by), by, 1 - back)
    return { name, by, from: dayOf(start), ...daysBefore(start, tomorrow) }
  }
  // The chosen days include the last one.
  const start = parseDay(from) ?? tomorrow - 30 * DAY
  const end = Math.max(start, parseDay(to) ?? tomorrow - DAY) + DAY
  const days = (end - start) / DAY
  return {
    name,
    by: days <= 62 ? 'day' : days <= 365 ? 'week' : 'month',
    from: dayOf(start),
    to: dayOf(end),
    ...daysBefore(start, end),
  }
}

function daysBefore(start: number, end: number): Pick<Span, 'before'> {
  const earlier = 2 * start - end
  return earlier < FIRST ? {} : { before: { from: dayOf(earlier), to: dayOf(start) } }
}

/** The earliest day of a purchase. */
const FIRST = Date.UTC(100, 0)

/** The start of a day in the query; undefined for a bad one. */
function parseDay(text = ''): number | undefined {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return time >= FIRST ? time : undefined
}

/** The most periods of a chart: ten years. */
export const MAX_PERIODS = 120

/** All periods from one to another, as summaries name them, or the last ones if they are many. */
export function periodsBetween(first: number, last: number, by: Period): string[] {
  const found: string[] = []
  const earliest = shift(floor(last, by), by, 1 - MAX_PERIODS)
  let start = Math.max(earliest, floor(first, by))
  for (; start <= last; start = shift(start, by, 1)) found.push(nameOf(start, by))
  return found
}

/** The period of a time, as summaries name it: `2026-01-31`, a Monday, or `2026-01`. */
function nameOf(time: number, by: Period): string {
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
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count, date.getUTCDate())
}

export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
