import { formatDays, formatMonth } from '../format.ts'

/** The periods that the overview can show. */
export const RANGES = [
  ['this-month', 'This month'],
  ['last-month', 'Last month'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
  ['this-year', 'This year'],
  ['months', 'Last 12 months'],
  ['all', 'All time'],
  ['custom', 'Custom…'],
] as const

type Range = (typeof RANGES)[number][0]
type Period = 'day' | 'week' | 'month'

const DAY = 86_400_000

/** Days in UTC. `to` is the day after the last one. */
interface Days {
  readonly from: string
  readonly to: string
}

/** The days to show, how to divide them, and the days to compare them with, like `October`. */
export interface Span extends Partial<Days> {
  readonly name: Range
  readonly by: Period
  readonly before?: (Days & { readonly name: string }) | undefined
}

/** The span that the query of the overview names. */
export function spanOf(query: { readonly [name: string]: string }, now: number): Span {
  const [name] = RANGES.find(([name]) => name === query.range) ?? RANGES[3]
  if (name === 'all') return { name, by: 'month' }
  const [start, end] = daysOf(name, query, now)
  const count = (end - start) / DAY
  const by = count <= 92 ? 'day' : count <= 365 && name === 'custom' ? 'week' : 'month'
  return { name, by, from: dayOf(start), to: dayOf(end), before: before(name, start, end) }
}

/** The first day of a range, and the day after its last one. */
function daysOf(
  name: Exclude<Range, 'all'>,
  { from, to }: { readonly [name: string]: string },
  now: number,
): [start: number, end: number] {
  const tomorrow = floor(now, 'day') + DAY
  const month = floor(now, 'month')
  if (name === 'this-month') return [month, tomorrow]
  if (name === 'last-month') return [shift(month, 'month', -1), month]
  if (name === 'months') return [shift(month, 'month', -11), tomorrow]
  if (name === 'this-year') return [Date.UTC(new Date(now).getUTCFullYear(), 0), tomorrow]
  if (name !== 'custom') return [tomorrow - Number(name) * DAY, tomorrow]
  const start = parseDay(from) ?? tomorrow - 30 * DAY
  return [start, Math.max(start, parseDay(to) ?? tomorrow - DAY) + DAY]
}

/**
 * The days to compare with. A calendar month is compared with the month before, and a month or year
 * that is not over with the same days of the one before. Others are compared with as many days.
 */
function before(name: Range, start: number, end: number): Span['before'] {
  const isMonth = floor(start, 'month') === start && shift(start, 'month', 1) === end
  const months = name === 'this-year' ? 12 : name === 'this-month' || isMonth ? 1 : 0
  const first = months > 0 ? shift(start, 'month', -months) : 2 * start - end
  // The month before may be shorter.
  const last = months > 0 ? Math.min(shift(end, 'month', -months), start) : start
  if (first < FIRST) return undefined
  const days = { from: dayOf(first), to: dayOf(last) }
  if (months === 0) return { ...days, name: `the ${(last - first) / DAY} days before` }
  const isWhole = months === 1 && last === start
  return { ...days, name: isWhole ? formatMonth(first) : formatDays(first, last - DAY) }
}

/** The earliest day of a purchase. */
const FIRST = Date.UTC(100, 0)

/** The start of a day in the query; undefined for a bad one. */
function parseDay(text = ''): number | undefined {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return time >= FIRST ? time : undefined
}

/** The most periods of a chart: ten years. */
const MAX_PERIODS = 120

/**
 * All periods from one to another, as summaries name them: `2026-01-31`, a Monday, or `2026-01`. The
 * last ones if they are many.
 */
export function periodsBetween(first: number, last: number, by: Period): string[] {
  const found: string[] = []
  const earliest = shift(floor(last, by), by, 1 - MAX_PERIODS)
  let start = Math.max(earliest, floor(first, by))
  for (; start <= last; start = shift(start, by, 1)) {
    found.push(dayOf(start).slice(0, by === 'month' ? 7 : 10))
  }
  return found
}

/** The query of the overview for the calendar month `2021-11`. */
export function queryOfMonth(month: string) {
  const start = Date.parse(`${month}-01`)
  return { range: 'custom', from: dayOf(start), to: dayOf(shift(start, 'month', 1) - DAY) }
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
