// run: early
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spanOf } from '../../console/pages/periods.ts'

const NOW = Date.parse('2026-03-31T12:00:00Z')

/** The query, the days that are shown, the days to compare them with, and their name. */
const SPANS = [
  [{ range: 'this-month' }, '2026-03-01/2026-04-01', '2026-02-01/2026-03-01'],
  [{ range: 'last-month' }, '2026-02-01/2026-03-01', '2026-01-01/2026-02-01'],
  [{ range: '7' }, '2026-03-25/2026-04-01', '2026-03-18/2026-03-25'],
  [{ range: 'this-year' }, '2026-01-01/2026-04-01', '2025-01-01/2025-04-01'],
  [{ range: 'months' }, '2025-04-01/2026-04-01', '2024-04-01/2025-04-01'],
  [
    { range: 'custom', from: '2024-02-01', to: '2024-02-29' },
    '2024-02-01/2024-03-01',
    '2024-01-01/2024-02-01',
  ],
  [
    { range: 'custom', from: '2026-03-10', to: '2026-03-11' },
    '2026-03-10/2026-03-12',
    '2026-03-08/2026-03-10',
  ],
  [{ range: 'all' }, 'undefined/undefined', undefined],
] as const

test('months are compared with the months before, and other spans with as many days', () => {
  for (const [query, days, before] of SPANS) {
    const span = spanOf(query, NOW)
    const text = span.before && `${span.before.from}/${span.before.to}`
    assert.deepEqual([`${span.from}/${span.to}`, text], [days, before], query.range)
  }
})

test('a running month is compared with the same days of the month before', () => {
  const { before } = spanOf({ range: 'this-month' }, Date.parse('2026-03-10T12:00:00Z'))
  assert.deepEqual([before?.from, before?.to], ['2026-02-01', '2026-02-11'])
})

test('on January 31, this year is compared with the January before, not with a whole year', () => {
  const { before } = spanOf({ range: 'this-year' }, Date.parse('2026-01-31T12:00:00Z'))
  assert.deepEqual([before?.from, before?.to], ['2025-01-01', '2025-02-01'])
})
