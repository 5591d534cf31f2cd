/** A time with a zone: `Z`, `UTC`, `GMT`, an offset, or an offset of zero before `UTC`. */
export const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d(?::?\d\d)?| (?:UTC|GMT|[+-]00:?00 UTC))$/i

/**
 * Parses a time to Unix milliseconds: ISO 8601 with a zone, 10 digits of seconds or 13 digits of
 * milliseconds. Cuts digits after the millisecond. T and Z may be lower case (RFC 3339 section
 * 5.6). Returns undefined for any other text. Rejects a time without a zone, because a guess could
 * be a day off.
 */
export function parseInstant(text: string): number | undefined {
  if (text.length === 20 && text[10] === 'T' && text[19] === 'Z') return parseUtcSeconds(text)
  if (text.length === 10 || text.length === 13) {
    const number = digits(text, 0, text.length)
    if (!Number.isNaN(number)) return text.length === 10 ? number * 1000 : number
  }
  const parts = ISO_8601.exec(text)
  if (!parts) return undefined
  const [year, month, day, hour, minute, second] = parts
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const local = toMilliseconds(year, month, day, hour, minute, second)
  const offset = parseOffset(parts[8] ?? '')
  const fraction = Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'))
  if (local === undefined || offset === undefined) return undefined
  const instant = local + fraction - offset
  return instant >= FIRST && instant < END ? instant : undefined
}

// Accepts the years 100 to 9999 in UTC. Checks the result, because a zone may move a time into
// another year.
const FIRST = Date.UTC(100, 0)
const END = Date.UTC(10_000, 0)

// Nearly all files write times as `2024-03-01T12:34:56Z`. Parsing these without a regular expression
// takes a third of the time.
function parseUtcSeconds(text: string): number | undefined {
  const marks = text[4] === '-' && text[7] === '-' && text[13] === ':' && text[16] === ':'
  const part = (start: number, end: number) => digits(text, start, end)
  return marks
    ? toMilliseconds(part(0, 4), part(5, 7), part(8, 10), part(11, 13), part(14, 16), part(17, 19))
    : undefined
}

/** Parses the digits of `text` from `start` to `end`; NaN if another character is among them. */
export function digits(text: string, start: number, end: number): number {
  let number = 0
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return Number.NaN
    number = number * 10 + digit
  }
  return number
}

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/**
 * Converts a date and time in UTC to Unix milliseconds. Returns undefined for a wrong date, because
 * Date.UTC turns 30 February into 1 March.
 */
export function toMilliseconds(
  year = Number.NaN,
  month = 0,
  day = 0,
  hour = 0,
  minute = 0,
  second = 0,
): number | undefined {
  const days = month === 2 && !isLeap(year) ? 28 : (DAYS[month - 1] ?? 0)
  const exists = day >= 1 && day <= days && hour <= 23 && minute <= 59 && second <= 59
  if (!exists || !(year >= 100)) return undefined
  return daysOf(year, month, day) * 86_400_000 + ((hour * 60 + minute) * 60 + second) * 1000
}

// Date.UTC would take half of the time to parse a text. The year begins in March here, so that a
// leap day is its last day. The months from March have 153 days in five.
function daysOf(year: number, month: number, day: number): number {
  const years = month > 2 ? year : year - 1
  const months = month > 2 ? month - 3 : month + 9
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400)
  return years * 365 + leapDays + Math.floor((153 * months + 2) / 5) + day - 719_469
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** Parses a zone (`Z`, `UTC`, `+01:00`, `+0100`, `+01`) to its offset from UTC in milliseconds. */
export function parseOffset(zone: string): number | undefined {
  if (/[a-z]$/i.test(zone)) return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2)) * (zone.length > 3 ? 1 : 0)
  if (hours > 23 || minutes > 59) return undefined
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

let latest = Number.NaN
let latestText = ''

/** Formats Unix milliseconds as ISO 8601 in UTC. Keeps the latest text: writes often share it. */
export function formatInstant(milliseconds: number): string {
  if (milliseconds !== latest) {
    latestText = new Date(milliseconds).toISOString()
    latest = milliseconds
  }
  return latestText
}
