import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseDateFormat } from '../../lib/csv/date-format.ts'
import { createTimeReader, type TimeFormat } from '../../lib/csv/times.ts'
import { read, shortOf } from '../support/purchase-file.ts'

/** Reads one time. Returns the instant, or the message of the mistake. */
function timeOf(cell: string, format: TimeFormat): string {
  let mistake = ''
  const parsed = createTimeReader(format)(cell, (message) => {
    mistake = message
  })
  return mistake || new Date(/^\d+$/.test(parsed) ? Number(parsed) : parsed).toISOString()
}

const UTC = { zone: 'UTC' }
const JUNE: readonly [cell: string, date_format: string][] = [
  ['2025-06-08', 'YYYY-MM-DD'],
  ['2025-6-8', 'YYYY-MM-DD'],
  ['20250608', 'YYYYMMDD'],
  ['06/08/25', 'MM/DD/YY'],
  ['6/8/2025', 'MM/DD/YYYY'],
  ['8.6.2025', 'DD.MM.YYYY'],
  ['8. 6. 2025', 'DD. MM. YYYY'],
  ['2025. 06. 08.', 'YYYY. MM. DD.'],
  ['Jun-08-25', 'MMM-DD-YY'],
  ['JUN-8-25', 'MMM-DD-YY'],
  ['8-June-2025', 'DD-MMM-YYYY'],
  ['Jun 8, 2025', 'MMM DD, YYYY'],
  ['Jun.  8, 2025', 'MMM DD, YYYY'],
  ['Sunday, June 8, 2025', 'MMM DD, YYYY'],
  ['Sun 08 Jun 2025', 'DD MMM YYYY'],
  ['Jun\u00a08,\u202f2025', 'MMM DD, YYYY'],
]
const CLOCKS: readonly [clock: string, time: string][] = [
  ['', '00:00:00.000'],
  [' 10:23', '10:23:00.000'],
  [', 10:23:05 PM', '22:23:05.000'],
  [' 10:23:05\u202fp.m. UTC', '22:23:05.000'],
  [' 10:23:05.5 PDT', '17:23:05.500'],
  [' 10:23 +0000 UTC', '10:23:00.000'],
  [' 10:23-05:00', '15:23:00.000'],
  [' gmt', '00:00:00.000'],
]
test('dates are read in each format, with and without a time of day', () => {
  for (const [date, date_format] of JUNE) {
    for (const [clock, time] of CLOCKS) {
      const format = { ...UTC, date_format }
      assert.equal(
        timeOf(date + clock, format),
        new Date(`2025-06-08T${time}Z`).toISOString(),
        date,
      )
    }
  }
})

test('every order of year, month and day is a format, and each stands once', () => {
  const separator = fc.constantFrom('-', '/', '.', ',', ' ', ', ', '. ')
  const parts = fc.constantFrom('YYYY', 'YY', 'MMM', 'MM', 'DD')
  const kind = (part: string) => part[0]
  fc.assert(
    fc.property(parts, separator, parts, separator, parts, (a, first, b, second, c) => {
      const isWhole = new Set([a, b, c].map(kind)).size === 3
      assert.equal(parseDateFormat(a + first + b + second + c) !== undefined, isWhole)
    }),
  )
  for (const bad of [
    '',
    'YYYY-MM',
    'YYYYMM-DD',
    'DDMMYYYY',
    'YYYY-MM-DD HH',
    '-YYYY-MM-DD',
    'D/M/YY',
  ]) {
    assert.equal(parseDateFormat(bad), undefined, bad)
  }
})

test('a generated day is read as the same day, however it is written', () => {
  const writers: readonly [date_format: string, write: (date: Date) => string][] = [
    ['DD/MM/YYYY', (date) => date.toLocaleDateString('en-GB', { timeZone: 'UTC' })],
    ['MM/DD/YYYY', (date) => date.toLocaleString('en-US', { timeZone: 'UTC' })],
    ['DD.MM.YYYY', (date) => date.toLocaleString('de-DE', { timeZone: 'UTC' })],
    ['YYYY-MM-DD', (date) => date.toLocaleString('sv-SE', { timeZone: 'UTC' })],
    ['MMM DD, YYYY', (date) => date.toLocaleString('en-US', { ...LONG, timeZone: 'UTC' })],
    ['DD MMM YYYY', (date) => date.toUTCString()],
  ]
  const days = fc.date({
    min: new Date('2000-01-01'),
    max: new Date('2099-12-31'),
    noInvalidDate: true,
  })
  fc.assert(
    fc.property(days, fc.constantFrom(...writers), (date, [date_format, write]) => {
      date.setUTCMilliseconds(0)
      const written = write(date)
      const expected = written.includes(':') ? date.getTime() : date.setUTCHours(0, 0, 0)
      const read = timeOf(written, { ...UTC, date_format })
      assert.equal(read, new Date(expected).toISOString(), written)
    }),
  )
})
const LONG = { dateStyle: 'full', timeStyle: 'medium' } as const

/** The first instant of a day, by asking for the day of each second around it. */
function firstInstant(day: string, zone: string): string | undefined {
  const parts = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' })
  const start = Date.parse(day) - 26 * 3_600_000
  for (let minute = 0; minute < 54 * 60; minute++) {
    const instant = start + minute * 60_000
    if (parts.format(instant) === day) return new Date(instant).toISOString()
  }
  return undefined
}

test('a day without a time is its first instant, also where the clock skips midnight', () => {
  const days: readonly [day: string, zone: string][] = [
    ['2026-01-31', 'Europe/London'],
    ['2018-11-04', 'America/Sao_Paulo'],
    ['2018-02-18', 'America/Sao_Paulo'],
    ['2024-04-26', 'Africa/Cairo'],
    ['2024-11-03', 'America/Havana'],
    ['2024-03-10', 'America/Havana'],
    ['2011-12-31', 'Pacific/Apia'],
    ['1919-03-31', 'America/Toronto'],
  ]
  for (const [day, zone] of days) {
    const expected = firstInstant(day, zone)
    assert.equal(timeOf(day, { zone, date_format: 'YYYY-MM-DD' }), expected, `${day} ${zone}`)
    assert.equal(timeOf(day, { zone }), expected)
  }
  assert.equal(firstInstant('2011-12-30', 'Pacific/Apia'), undefined)
})

test('an abbreviated zone wins over the zone of the layout', () => {
  const offsets = {
    ...{ UTC: 0, GMT: 0, WET: 0, WEST: 1, BST: 1, CET: 1, CEST: 2, EET: 2, EEST: 3 },
    ...{ PST: -8, PDT: -7, MST: -7, MDT: -6, CST: -6, CDT: -5, EST: -5, EDT: -4 },
  }
  for (const [name, hours] of Object.entries(offsets)) {
    for (const zone of ['America/Chicago', undefined]) {
      const time = timeOf(`2025-06-08 10:00 ${name}`, { zone })
      assert.equal(time, new Date(Date.UTC(2025, 5, 8, 10 - hours)).toISOString(), name)
    }
  }
})

test('UTC and GMT end times of canonical files, and wrong times are described as they are', () => {
  const header = 'transaction_id,sku,purchased_at'
  const good = ['10:00:00 UTC', '10:00:00.123456 GMT', '10:00:00 +0000 UTC', '10:00:00.000000000Z']
  const { errors, purchases } = read([
    header,
    ...good.map((time, i) => `${i},gold,2026-05-01 ${time}`),
  ])
  assert.deepEqual([errors, purchases.length], [[], 4])
  const bad: readonly [cell: string, message: RegExp][] = [
    ['2026-05-01 10:00:00 EST', /has another zone than Z, UTC, GMT or an offset/],
    ['2026-05-01 10:00:00 +0100 UTC', /has another zone than/],
    ['2026-02-30 10:00:00 UTC', /does not exist/],
    ['1777629600000000', /must be ISO 8601 with a zone .*, Unix seconds or milliseconds/],
  ]
  for (const [cell, message] of bad) {
    const { errors } = read([header, `1,gold,${cell}`])
    assert.deepEqual(errors.map(shortOf), ['2 purchased_at invalid'])
    assert.match(errors[0]?.message ?? '', message)
  }
})
