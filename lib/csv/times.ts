import { formatInstant, parseOffset, toMilliseconds } from '../domain/instant.ts'

/** How a file writes times. */
export interface TimeFormat {
  /** The order and separators of day, month and year. Default: ISO 8601 and Unix times. */
  readonly date_format?: DateFormat | undefined
  /** The IANA time zone of times without a zone. */
  readonly zone?: string | undefined
}

// Each format: its pattern, and the groups of year, month and day. Named groups would take longer.
const DATES = {
  'YYYY-MM-DD': ['(\\d{4})-(\\d{1,2})-(\\d{1,2})', 1, 2, 3],
  'MM/DD/YYYY': ['(\\d{1,2})/(\\d{1,2})/(\\d{4})', 3, 1, 2],
  'DD/MM/YYYY': ['(\\d{1,2})/(\\d{1,2})/(\\d{4})', 3, 2, 1],
  'DD.MM.YYYY': ['(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})', 3, 2, 1],
} as const
const TIME = '(\\d{1,2}):(\\d\\d)(?::(\\d\\d)(?:[.,](\\d+))?)?(?: ?([AP])M)?'
const ZONE = '(?: ?(UTC|GMT|Z|[+-]\\d\\d(?::?\\d\\d)?))?'

export type DateFormat = keyof typeof DATES
export const DATE_FORMATS = Object.keys(DATES) as DateFormat[]

const MAX_LENGTH = 64

/**
 * Creates a function that converts a time to one of the canonical format. It reports a mistake, and
 * returns '', if the time is not in the given format or does not exist. Without a `date_format`, it
 * returns an unknown time unchanged.
 */
export function createTimeReader({ date_format, zone }: TimeFormat) {
  const [date, year, month, day] = DATES[date_format ?? 'YYYY-MM-DD']
  const pattern = new RegExp(`^${date}[T ]${TIME}${ZONE}$`, 'i')
  const fromLocal = zone === undefined ? undefined : createZone(zone)

  /** Returns Unix milliseconds, a text that needs no conversion, or the mistake. */
  const parse = (text: string): number | string | { readonly mistake: string } => {
    const parts = text.length <= MAX_LENGTH ? pattern.exec(text) : null
    if (!parts) {
      if (date_format === undefined) return text
      return { mistake: `must be a time like ${date_format} HH:MM or ${date_format} HH:MM:SS` }
    }
    const [hour, minute, second = 0, fraction = '', half, given] = parts.slice(4)
    const local = toMilliseconds(
      Number(parts[year]),
      Number(parts[month]),
      Number(parts[day]),
      half ? hourOf(Number(hour), half) : Number(hour),
      Number(minute),
      Number(second),
    )
    if (local === undefined) return { mistake: 'does not exist' }
    const exact = fraction ? local + Number(fraction.slice(0, 3).padEnd(3, '0')) : local
    if (given !== undefined) return inZone(exact, given) ?? { mistake: 'has no known zone' }
    if (fromLocal) {
      return fromLocal(exact) ?? { mistake: `does not exist: the clock of ${zone} skips it` }
    }
    return date_format === undefined ? text : { mistake: 'has no zone: name it in the layout' }
  }

  return (text: string, wrong: (message: string) => void): string => {
    if (text === '') return ''
    const parsed = parse(text)
    if (typeof parsed === 'string') return parsed
    if (typeof parsed === 'object') {
      wrong(parsed.mistake)
      return ''
    }
    // Most times have 13 digits of milliseconds, which are parsed fastest.
    return parsed >= 1e12 && parsed < 1e13 ? String(parsed) : formatInstant(parsed)
  }
}

/** Converts an hour of a 12-hour clock. */
function hourOf(hour: number, half: string): number {
  if (hour < 1 || hour > 12) return Number.NaN
  return (hour % 12) + (half.toUpperCase() === 'P' ? 12 : 0)
}

function inZone(local: number, zone: string): number | undefined {
  const offset = /^[+-]/.test(zone) ? parseOffset(zone) : 0
  return offset === undefined ? undefined : local - offset
}

const DAY_MS = 86_400_000
const MAX_DAYS = 1_000

/** The offsets of a zone on the days before and after a local day. */
interface Day {
  readonly before: number
  readonly after: number
}

/**
 * Creates a function that converts a local time of a zone to Unix milliseconds. In an hour that the
 * clock repeats, the first one counts. Returns undefined for a time that the clock skips. Keeps the
 * offsets of 1,000 days, because asking Intl takes 6 µs. A search for the time of the change would
 * ask 20 times, and a file can have a change in each row.
 */
function createZone(zone: string): (local: number) => number | undefined {
  const formatter = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  const days = new Map<number, Day>()

  const offsetAt = (time: number): number => {
    const [, sign, hours, minutes, seconds = 0] =
      /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(formatter.format(time)) ?? []
    const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds)
    return (sign === '-' ? -1000 : 1000) * offset
  }

  const dayOf = (local: number): Day => {
    const number = Math.floor(local / DAY_MS)
    const known = days.get(number)
    if (known) return known
    if (days.size >= MAX_DAYS) days.clear()
    // Offsets are less than a day.
    const before = offsetAt((number - 1) * DAY_MS)
    const day = { before, after: offsetAt((number + 2) * DAY_MS) }
    days.set(number, day)
    return day
  }

  return (local) => {
    const { before, after } = dayOf(local)
    const early = local - before
    if (before === after || offsetAt(early) === before) return early
    const late = local - after
    return offsetAt(late) === after ? late : undefined
  }
}

/** Whether Intl knows the time zone. */
export function isZone(zone: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone: zone }))
  } catch {
    return false
  }
}
