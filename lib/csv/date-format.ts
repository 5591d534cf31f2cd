const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]
const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

/** Matches a name, or its first letters: at least three. */
const nameOrShort = (name: string): string => {
  const [first = '', ...further] = name.slice(3)
  const rest = further.reduceRight((inner, letter) => `(?:${letter}${inner})?`, '')
  return name.slice(0, 3) + (first && `(?:${first}${rest})?`)
}

/** Matches a weekday in front of a date. */
export const WEEKDAY = `(?:(?:${WEEKDAYS.map(nameOrShort).join('|')})[., ]+)?`

/** For each part of a date format: what it stands for, and its pattern. */
const PARTS: { readonly [part: string]: readonly [field: Field, pattern: string] } = {
  YYYY: ['year', '(\\d{4})'],
  YY: ['year', '(\\d\\d)'],
  MMM: ['month', `(${MONTHS.map(nameOrShort).join('|')})\\.?`],
  MM: ['month', '(\\d{1,2})'],
  DD: ['day', '(\\d{1,2})'],
}
type Field = 'year' | 'month' | 'day'

const PART = `(${Object.keys(PARTS).join('|')})`
const FORMAT = new RegExp(`^${PART}([-/., ]+)${PART}([-/., ]+)${PART}([-/., ]*)$`)

/** The pattern of a date, and the numbers of its groups. */
type DateFormat = { readonly pattern: string } & { readonly [F in Field]: number }

const COMPACT: DateFormat = { pattern: '(\\d{4})(\\d\\d)(\\d\\d)', year: 1, month: 2, day: 3 }

/**
 * Parses a date format: `YYYYMMDD`, or year, month and day in any order with separators. Returns
 * undefined for any other text.
 */
export function parseDateFormat(format: string): DateFormat | undefined {
  if (format === 'YYYYMMDD') return COMPACT
  const [, first = '', gap = '', second = '', nextGap = '', third = '', end = ''] =
    FORMAT.exec(format) ?? []
  const parts = [first, second, third].map((part) => PARTS[part])
  const fields = parts.map((part) => part?.[0])
  const groupOf = (field: Field) => fields.indexOf(field) + 1
  const groups = { year: groupOf('year'), month: groupOf('month'), day: groupOf('day') }
  if (Object.values(groups).includes(0)) return undefined
  const [a, b, c] = parts.map((part) => part?.[1])
  const pattern = [a, separator(gap), b, separator(nextGap), c, separator(end)].join('')
  return { pattern, ...groups }
}

/** A blank of the format stands for any number of blanks. */
function separator(text: string): string {
  return text.replace(/[-/.]/g, '\\$&').replace(/ +/g, ' +')
}

/** The number of a month: its digits, or a name that begins with three letters of it. */
export function monthOf(text: string): number {
  const short = text.slice(0, 3).toLowerCase()
  return /^\d/.test(text) ? Number(text) : MONTHS.findIndex((name) => name.startsWith(short)) + 1
}

/** `YY` is 20YY. */
export function yearOf(text: string): number {
  return text.length === 2 ? 2000 + Number(text) : Number(text)
}
