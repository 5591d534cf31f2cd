import { type Column, cellOf } from './columns.ts'
import { type Dates, findDates } from './dates.ts'
import type { Part } from './detectors.ts'
import type { Row } from './ids.ts'
import { canJoin, ianaOf } from './zones.ts'

export type Find = (part: Part) => readonly { readonly column: Column; readonly score: number }[]

/** How the times of the sales are written. */
export interface Times {
  /** The columns that are joined to a time. */
  readonly columns: readonly Column[]
  readonly dates: Dates
  /** The zone that the file names. */
  readonly zone?: string | undefined
  /** Another column of times that differ. */
  readonly rival?: Column
}

/** At most this many columns are read as times. */
const MAX_READ = 6

/**
 * Finds the column of the sale's time, and joins columns of the time of day and the zone. Returns the
 * columns that look like times and that no layout can read, if there is no other.
 */
export function* findTimes(
  find: Find,
  rows: readonly Row[],
): Generator<undefined, Times | readonly Column[]> {
  const unread: Column[] = []
  const read: { column: Column; dates: Dates; score: number }[] = []
  for (const { column, score } of find('date').slice(0, MAX_READ)) {
    const cells = rows.map((row) => cellOf(row, column.at))
    const dates = yield* findDates(cells.filter((cell) => cell !== ''))
    if (dates) read.push({ column, dates, score: score + (dates.needsZone ? 0 : WITH_ZONE) })
    else unread.push(column)
  }
  const [best, ...others] = read.sort((a, b) => b.score - a.score)
  if (!best) return unread
  const starts = (start: Column, whole: Column) =>
    rows.every((row) => cellOf(row, whole.at).startsWith(cellOf(row, start.at)))
  const near = others.filter(({ score }) => score >= best.score - 1)
  // The same day with a time of day says more.
  const longer = near.find(({ column }) => starts(best.column, column))
  const { column, dates } = longer ?? best
  const times = yield* joinTimes(column, dates, find, rows)
  const rival = near.find((each) => each !== longer && !starts(each.column, column))
  return rival ? { ...times, rival: rival.column } : times
}

/** A time with a zone is surer than one without. */
const WITH_ZONE = 1.5

/** Joins the columns that complete a date. */
function* joinTimes(
  date: Column,
  dates: Dates,
  find: Find,
  rows: readonly Row[],
): Generator<undefined, Times> {
  const hasClock = date.samples.some((cell) => /\d:\d\d/.test(cell))
  const clocks = hasClock || !dates.needsZone ? [] : find('clock').map(({ column }) => column)
  const clock = clocks.sort((a, b) => Math.abs(a.at - date.at) - Math.abs(b.at - date.at))[0]
  const columns = clock ? [date, clock] : [date]
  if (!dates.needsZone) return { columns, dates }
  const zone = find('zone')[0]?.column
  const words = [...(zone?.words?.keys() ?? [])]
  const joined = zone && canJoin(words) ? [...columns, zone] : columns
  const isWhole = joined.length === 1
  const found = isWhole
    ? dates
    : yield* findDates(rows.map((row) => joinCells(row, joined)).filter((text) => text !== ''))
  const named = words.length === 1 ? ianaOf(words[0] ?? '') : undefined
  const isUtc = columns.some(({ concepts }) => concepts.has('utc'))
  return {
    columns: found ? joined : [date],
    dates: found ?? dates,
    zone: isUtc ? 'UTC' : named,
  }
}

function joinCells(row: Row, columns: readonly Column[]): string {
  return columns
    .map(({ at }) => cellOf(row, at))
    .filter((cell) => cell !== '')
    .join(' ')
}
