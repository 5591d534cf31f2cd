import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatInstant, parseInstant } from '../../lib/domain/instant.ts'
import { fc } from '../support/seeds.ts'

const AT = Date.UTC(2024, 2, 1, 12, 34, 56)

describe('parseInstant', () => {
  const good: [string, number][] = [
    ['2024-03-01T12:34:56Z', AT],
    ['2024-03-01 12:34:56Z', AT],
    ['2024-03-01T12:34:56-00:00', AT],
    ['2024-03-01T14:34:56+0200', AT],
    ['2024-03-01T14:34:56+02', AT],
    ['2024-03-01T12:34Z', AT - 56_000],
    ['2024-03-01T12:34:56.7Z', AT + 700],
    ['2024-03-01T12:34:56,78Z', AT + 780],
    ['2024-03-01T12:34:56.789Z', AT + 789],
    ['2024-03-01T12:34:56.789999999Z', AT + 789],
    [`2024-03-01T12:34:56.${'7899'.repeat(5)}+00:00`, AT + 789],
    ['2024-03-01T12:34:56z', AT],
    ['2024-03-01t12:34:56Z', AT],
    ['1963-06-19t08:30:06.283185z', Date.UTC(1963, 5, 19, 8, 30, 6, 283)],
    ['1709296496', AT],
    ['1709296496789', AT + 789],
    ['0000000000', 0],
    // The first and the last second of the valid years.
    ['0100-01-01T01:00:00+01:00', Date.parse('0100-01-01T00:00:00Z')],
    ['9999-12-31T22:59:59-01:00', Date.parse('9999-12-31T23:59:59Z')],
  ]
  test('reads each form of ISO 8601 with a zone, and Unix times', () => {
    for (const [text, expected] of good) assert.equal(parseInstant(text), expected, text)
  })

  // Another test compares times that do not exist (30 February, 24:00) with Date.
  const bad: Record<string, string[]> = {
    'without a zone': ['2024-03-01T12:34:56', '2024-03-01 12:34:56', '2024-03-01'],
    'a year that Date would read as 19xx': ['0024-03-01T12:34:56Z', '0099-12-31T23:59:59Z'],
    'out of the valid years': ['0100-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00'],
    'a leap second and an offset of a day': ['2024-03-01T23:59:60Z', '2024-03-01T12:00:00+24:00'],
    'another form': [
      ...['', 'now', '2024-3-1T12:34:56Z', '24-03-01T12:34:56Z', '+002024-03-01T12:34:56Z'],
      ...['2024-03-01T12Z', '2024-03-01T12:34:56.Z', '2024-03-01T12:34:56 Z'],
      ...['2024-03-01T12:34:56GMT', '2024-03-01T12:34:56+2', '2024-03-01T12:34:56+02:0'],
      ...['2024-03-01T12:34:56+02:00Z', ' 2024-03-01T12:34:56Z', '2024-03-01T12:34:56Z\n'],
      ...['01/03/2024 12:34:56Z', '２０２４-03-01T12:34:56Z'],
    ],
    'another count of digits': ['170929649', '17092964960', '17092964967890', '-1709296496'],
    'a number that is not plain': ['1709296496.5', '1.709296496e9', '0x65e1c9b0', '+1709296496'],
  }
  test('refuses all other forms', () => {
    for (const [what, texts] of Object.entries(bad)) {
      for (const text of texts) assert.equal(parseInstant(text), undefined, `${what}: ${text}`)
    }
  })

  test('reads every instant of the years 100 to 9999 in the format of Date', () => {
    const [min, max] = [new Date('0100-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59.999Z')]
    fc.assert(
      fc.property(fc.date({ min, max, noInvalidDate: true }), (date) => {
        assert.equal(parseInstant(date.toISOString()), date.getTime())
        assert.equal(formatInstant(date.getTime()), date.toISOString())
      }),
    )
  })

  test('agrees with Date about times with offsets', () => {
    const part = (max: number, min = 0) =>
      fc.integer({ min, max }).map((value) => String(value).padStart(2, '0'))
    const year = fc.integer({ min: 0, max: 9999 }).map((value) => String(value).padStart(4, '0'))
    const zone = fc.tuple(fc.constantFrom('+', '-'), part(23), part(59))
    const parts = fc.tuple(year, part(14), part(33), part(25), part(61), part(61), zone)
    fc.assert(
      fc.property(parts, ([year, month, day, hour, minute, second, [sign, hours, minutes]]) => {
        const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`
        const text = `${local}${sign}${hours}:${minutes}`

        const isReadable = exists(local) && !/^([+-]|00)/.test(new Date(text).toISOString())
        assert.equal(parseInstant(text), isReadable ? Date.parse(text) : undefined, text)
      }),
      { numRuns: 500 },
    )
  })
})

/** Whether Date keeps a time unchanged. It turns 30 February into a day in March. */
function exists(local: string): boolean {
  const date = new Date(`${local}Z`)
  if (local < '0100') return false
  return !Number.isNaN(date.getTime()) && date.toISOString() === `${local}.000Z`
}
