import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRetryAfter } from '../../../http/webhooks/request.ts'

const NOW = Date.UTC(2026, 0, 31, 12)
const DAY = 86_400_000

test('Retry-After has seconds or a date', () => {
  assert.equal(parseRetryAfter('0', NOW), 0)
  assert.equal(parseRetryAfter('120', NOW), 120_000)
  assert.equal(parseRetryAfter('Sat, 31 Jan 2026 12:01:00 GMT', NOW), 60_000)
})

test('a time in the past is 0, and a wait is at most a day', () => {
  assert.equal(parseRetryAfter('Sat, 31 Jan 2026 11:00:00 GMT', NOW), 0)
  assert.equal(parseRetryAfter('Sun, 31 Jan 2027 12:00:00 GMT', NOW), DAY)
  assert.equal(parseRetryAfter('999999999', NOW), DAY)
})

test('anything else is ignored', () => {
  const headers = ['', '-1', '1.5', '1e3', '0x10', ' 5', '5 s', '1'.repeat(400), '2026-01-31']
  for (const header of [...headers, 'Sat, 99 Jan 2026 12:01:00 GMT', 'Sat, 31 Jan 2026 12:01:00']) {
    assert.equal(parseRetryAfter(header, NOW), undefined, header)
  }
  assert.equal(parseRetryAfter(undefined, NOW), undefined)
})
