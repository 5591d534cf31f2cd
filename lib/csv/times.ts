import { formatInstant, parseOffset, toMilliseconds } from '../domain/instant.ts'
import { monthOf, parseDateFormat, WEEKDAY, yearOf } from './date-format.ts'

/** How a file writes times. */
export interface TimeFormat {
  /** The order and separators of day, month and year. Default: ISO 8601 and Unix times. */
  readonly date_format?: string | undefined
  /** The IANA time zone of times without a zone. */
  readonly zone?: string | undefined
}

const TIME = '(\\d{1,2}):(\\d\\d)(?::(\\d\\d)(?:[.,](\\d+))?)?(?: ?([AP])\\.?M\\.?)?'
const ZONE = '(?: ?(?:([+-]00:?00 UTC|[+-]\\d\\d(?::?\\d\\d)?)|([A-Z]{1,5})))?'
const GROUPS_OF_DATE = 3

const MAX_LENGTH = 64

type Mistake = { readonly mistake: string }

/**
 * Creates a function that converts a time to one of the canonical format. It reports a mistake, and
 * returns '', if the time is not in the given format or does not exist. A day without a time is its
 * first instant. Without a `date_format`, it returns an unknown time unchanged.
 */
export function createTimeReader({ date_format, zone }: TimeFormat) {
  const format = parseDateFormat(date_format ?? 'YYYY-MM-DD')
  if (!format) throw new TypeError(`unknown date format: ${date_format}`)
  const pattern = new RegExp(
    `^${WEEKDAY}${format.pattern}(?:(?:,? +(?:at +)?|[T,])${TIME})?${ZONE}$`,
    'i',
  )
  const local = zone === undefined ? undefined : createZone(zone)

  /** Returns Unix milliseconds, a text that needs no conversion, or the mistake. */
  const parse = (written: string): number | string | Mistake => {
    const text = written.length > MAX_LENGTH ? '' : plain(written)
    const parts = pattern.exec(text)
    if (!parts) {
      if (date_format === undefined) return written
      return { mistake: `must be a time like ${date_format} or ${date_format} HH:MM:SS` }
    }
    const [hour, minute = 0, second = 0, fraction = '', half, offset, name] = parts.slice(
      GROUPS_OF_DATE + 1,
    )
    const whole = toMilliseconds(
      yearOf(parts[format.year] as string),
      monthOf(parts[format.month] as string),
      Number(parts[format.day]),
      half ? hourOf(Number(hour), half) : Number(hour ?? 0),
      Number(minute),
      Number(second),
    )
    if (whole === undefined) return { mistake: 'does not exist' }
    const exact = fraction ? whole + Number(fraction.slice(0, 3).padEnd(3, '0')) : whole
    if (offset !== undefined) {
      const milliseconds = parseOffset(offset)
      return milliseconds === undefined ? { mistake: 'has no known zone' } : exact - milliseconds
    }
    if (name !== undefined) return inZone(exact, name.toUpperCase())
    if (local) {
      const instant = hour === undefined ? local.startOfDay(exact) : local.toInstant(exact)
      return instant ?? { mistake: `does not exist: the clock of ${zone} skips it` }
    }
    return date_format === undefined ? written : { mistake: 'has no zone: name it in the layout' }
  }

  const inZone = (exact: number, abbreviation: string): number | Mistake => {
    const hours = ABBREVIATIONS[abbreviation]
    if (hours === undefined) {
      const remedy = 'write an offset like +09:00, or only the time, and give zone in the layout'
      return { mistake: `ends with ${abbreviation}, which is no known zone: ${remedy}` }
    }
    if (abbreviation === 'CST' && zone !== undefined && !IN_AMERICA.test(zone)) {
      return { mistake: `ends with CST, which is American time, but the zone is ${zone}` }
    }
    return exact - hours * HOUR_MS
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

/** Replaces the blanks of Intl, and removes its invisible marks of the writing direction. */
function plain(text: string): string {
  return text.replace(/[\u00a0\u202f]/g, ' ').replace(/[\u200e\u200f]/g, '')
}

const HOUR_MS = 3_600_000

/** The hours by which abbreviated zones are ahead of UTC. */
const ABBREVIATIONS: { readonly [name: string]: number } = {
  UTC: 0,
  GMT: 0,
  Z: 0,
  WET: 0,
  WEST: 1,
  BST: 1,
  CET: 1,
  CEST: 2,
  EET: 2,
  EEST: 3,
  PST: -8,
  PDT: -7,
  MST: -7,
  MDT: -6,
  CST: -6,
  CDT: -5,
  EST: -5,
  EDT: -4,
}

/** CST is also the time of China. */
const IN_AMERICA =
  /^((America|US|Canada|Mexico|Brazil|Chile)\/|(Cuba|Jamaica|Navajo|[CEMP]ST\d[CEMP]DT|[EHM]ST)$)/i

/** Converts an hour of a 12-hour clock. */
function hourOf(hour: number, half: string): number {
  if (hour < 1 || hour > 12) return Number.NaN
  return (hour % 12) + (half.toUpperCase() === 'P' ? 12 : 0)
}

const DAY_MS = 86_400_000
const MAX_DAYS = 1_000

/** The offsets of a zone on the days before and after a local day. */
interface Day {
  readonly before: number
  readonly after: number
  /** The first instant of the day, once it was searched. */
  start?: number | undefined
}

/**
 * Converts local times of a zone to Unix milliseconds. In an hour that the clock repeats, the first
 * one counts. Returns undefined for a time that the clock skips. Keeps the offsets of 1,000 days,
 * because asking Intl takes 6 µs. A search for the time of the change would ask 20 times, and a file
 * can have a change in each row.
 */
function createZone(zone: string) {
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
    const day: Day = { before, after: offsetAt((number + 2) * DAY_MS) }
    days.set(number, day)
    return day
  }

  const toInstant = (local: number): number | undefined => {
    const { before, after } = dayOf(local)
    const early = local - before
    if (before === after || offsetAt(early) === before) return early
    const late = local - after
    return offsetAt(late) === after ? late : undefined
  }

  /** Finds when the clock changes, if it skips midnight. It may skip the whole day. */
  const findChange = (midnight: number): number | undefined => {
    const { before, after } = dayOf(midnight)
    let low = midnight - after
    let high = midnight - before
    while (high - low > 1000) {
      const middle = low + Math.floor((high - low) / 2000) * 1000
      if (offsetAt(middle) === before) low = middle
      else high = middle
    }
    return high + after < midnight + DAY_MS ? high : undefined
  }

  return {
    toInstant,
    /** The first instant of a local day. */
    startOfDay(midnight: number): number | undefined {
      const day = dayOf(midnight)
      day.start ??= toInstant(midnight) ?? findChange(midnight)
      return day.start
    },
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
