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
export type Period = 'day' | 'week' | 'month'

const DAY = 86_400_000

/** Days in UTC. `to` is the day after the last one. */
interface Days {
  readonly from: string
  readonly to: string
}

/** The days to show, how to divide them, and the days to compare them with. */
export interface Span extends Partial<Days> {
  readonly name: Range
  readonly by: Period
  /** The `name` is like `October`. */
  readonly before?: (Days & { readonly name: string }) | undefined
}

type Query = { readonly [name: string]: string }

/** The span that the query of the overview names. */
export function spanOf({ range, from, to }: Query, now: number): Span {
  const [name] = RANGES.find(([name]) => name === range) ?? RANGES[3]
  if (name === 'all') return { name, by: 'month' }
  const tomorrow = floor(now, 'day') + DAY
  const month = floor(now, 'month')
  if (name === 'this-month') return spanBetween(name, month, tomorrow)
  if (name === 'last-month') return spanBetween(name, shift(month, 'month', -1), month)
  if (name === 'months') return spanBetween(name, shift(month, 'month', -11), tomorrow)
  if (name === 'this-year') {
    return spanBetween(name, Date.UTC(new Date(now).getUTCFullYear(), 0), tomorrow)
  }
  if (name !== 'custom') return spanBetween(name, tomorrow - Number(name) * DAY, tomorrow)
  // The chosen days include the last one.
  const start = parseDay(from) ?? tomorrow - 30 * DAY
  const end = Math.max(start, parseDay(to) ?? tomorrow - DAY) + DAY
  return spanBetween(name, start, end)
}

function spanBetween(name: Range, start: number, end: number): Span {
  const days = (end - start) / DAY
  return {
    name,
    by: days <= 92 ? 'day' : days <= 365 && name === 'custom' ? 'week' : 'month',
    ...daysOf(start, end),
    before: before(name, start, end),
  }
}

function daysOf(start: number, end: number): Days {
  return { from: dayOf(start), to: dayOf(end) }
}

/**
 * The days to compare with. A calendar month is compared with the month before, and a month or year
 * that is not over with the same days of the one before. Others are compared with as many days.
 */
function before(name: Range, start: number, end: number): Span['before'] {
  const isMonth = shift(start, 'month', 1) === end && floor(start, 'month') === start
  const months = name === 'this-year' ? 12 : name === 'this-month' || isMonth ? 1 : 0
  const first = months > 0 ? shift(start, 'month', -months) : 2 * start - end
  // The month before may be shorter. A whole month is compared with a whole one.
  const last = months === 0 || isMonth ? start : Math.min(sameDay(end, -months), start)
  if (first < FIRST) return undefined
  const isWhole = months === 1 && last === start
  const words =
    months > 0 ? formatDays(first, last - DAY) : `the ${(last - first) / DAY} days before`
  return { ...daysOf(first, last), name: isWhole ? formatMonth(first) : words }
}

/** The same day of another month, or the end of that month if it is shorter. */
function sameDay(end: number, months: number): number {
  const last = new Date(end - DAY)
  const month = shift(floor(end - DAY, 'month'), 'month', months)
  return Math.min(month + last.getUTCDate() * DAY, shift(month, 'month', 1))
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

/** The query of the overview for the calendar month `2021-11`. */
export function queryOfMonth(month: string) {
  const start = Date.parse(`${month}-01`)
  return { range: 'custom', from: dayOf(start), to: dayOf(shift(start, 'month', 1) - DAY) }
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
