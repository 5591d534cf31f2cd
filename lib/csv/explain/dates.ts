import { parseInstant } from '../../domain/instant.ts'
import { createTimeReader, type TimeFormat } from '../times.ts'

/** The format that the times of a file have. */
export interface Dates {
  /** Missing for ISO 8601 and Unix times. */
  readonly date_format?: string
  /** Another order of day and month that fits all times as well. */
  readonly other?: string
  /** Whether some times have no zone. */
  readonly needsZone: boolean
  /** How many times the format does not fit. */
  readonly misfits: number
}

const PARTS =
  /^(?:\p{L}{2,9}\.?,? +)?(\d{1,4}|\p{L}{3,9}\.?)([-/., ]{1,2})(\d{1,2}|\p{L}{3,9}\.?)([-/., ]{1,2})(\d{4}|\d{1,2})(?!\d)/u
const ISO = /^\d{4}-\d\d-\d\d/
const UNIX = /^(\d{10}|\d{13})$/
const COMPACT = /^(19|20)\d{6}$/
/** How many times are looked at before a format is dropped. */
const FIRST_TIMES = 50
const MAX_FORMATS = 8

/**
 * Finds the date format that fits most of these times. Of two that fit equally many, prefers the
 * order that keeps the times in the order of the file. Returns undefined if none fits 98 %.
 */
export function* findDates(times: readonly string[]): Generator<undefined, Dates | undefined> {
  const formats = [...new Set(times.slice(0, FIRST_TIMES).flatMap(formatsOf))]
  const fits: ({ date_format: string | undefined } & Fit)[] = []
  for (const date_format of formats.slice(0, MAX_FORMATS)) {
    fits.push({ date_format, ...(yield* read(times, date_format)) })
  }
  const least = Math.min(...fits.map(({ misfits }) => misfits))
  const best = fits.filter(({ misfits }) => misfits === least)
  best.sort((a, b) => a.jumps - b.jumps)
  const [first, second] = best
  if (!first || first.misfits > 0.02 * times.length) return undefined
  const { date_format, misfits, needsZone } = first
  return {
    ...(date_format !== undefined && { date_format }),
    ...(second?.date_format !== undefined && { other: second.date_format }),
    needsZone,
    misfits,
  }
}

/** The formats that one time may have. */
function formatsOf(time: string): (string | undefined)[] {
  if (ISO.test(time) || UNIX.test(time)) return [undefined]
  if (COMPACT.test(time.slice(0, 8)) && !/^\d/.test(time.slice(8))) return ['YYYYMMDD']
  const [, first = '', gap = '', second = '', nextGap = '', third = ''] = PARTS.exec(time) ?? []
  if (first === '') return []
  const orders = ordersOf([first, second, third], gap)
  return orders.map(([a, b, c]) => `${a}${gap}${b}${nextGap}${c}`)
}

/** The possible orders of day, month and year. */
function ordersOf(parts: readonly string[], gap: string): readonly (readonly string[])[] {
  const [first = '', second = '', third = ''] = parts
  const year = third.length === 4 ? 'YYYY' : 'YY'
  if (/^\p{L}/u.test(first)) return [['MMM', 'DD', year]]
  if (/^\p{L}/u.test(second)) {
    return first.length === 4 ? [['YYYY', 'MMM', 'DD']] : [['DD', 'MMM', year]]
  }
  if (first.length === 4) return [['YYYY', 'MM', 'DD']]
  const dayOrMonth = [
    ['DD', 'MM', year],
    ['MM', 'DD', year],
  ]
  return year === 'YYYY' || gap !== '-' ? dayOrMonth : [...dayOrMonth, ['YY', 'MM', 'DD']]
}

interface Fit {
  readonly misfits: number
  /** The sum of the differences between consecutive times. */
  readonly jumps: number
  readonly needsZone: boolean
}

/** How many times are read until others get a turn. */
const TIMES_AT_ONCE = 1_000

/** Reads all times with a format, as an import would. */
function* read(
  times: readonly string[],
  date_format: string | undefined,
): Generator<undefined, Fit> {
  const withZone = createReader({ date_format, zone: 'UTC' })
  const without = createReader({ date_format })
  let misfits = 0
  let jumps = 0
  let needsZone = false
  let before: number | undefined
  for (const [i, time] of times.entries()) {
    if (i % TIMES_AT_ONCE === 0) yield
    const at = withZone(time)
    if (at === undefined) {
      misfits++
      if (misfits > 0.02 * times.length) break
      continue
    }
    needsZone ||= without(time) === undefined
    if (before !== undefined) jumps += Math.abs(at - before)
    before = at
  }
  return { misfits, jumps, needsZone }
}

/** Creates a function that returns Unix milliseconds, or undefined for a wrong time. */
function createReader(format: TimeFormat) {
  const reader = createTimeReader(format)
  return (time: string): number | undefined => {
    let isWrong = false
    const text = reader(time, () => {
      isWrong = true
    })
    return isWrong ? undefined : parseInstant(text)
  }
}
