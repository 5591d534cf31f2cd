import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countJsonValues } from '../../http/json-scan.ts'
import { fc } from '../support/seeds.ts'

const NO_LIMIT = Number.MAX_SAFE_INTEGER

function scan(text: string, jsonValues = NO_LIMIT, jsonDepth = NO_LIMIT) {
  return countJsonValues(Buffer.from(text), { jsonValues, jsonDepth })
}

/** The same count by parsing: each value and each key. */
function count(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  const keys = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum: number, each) => sum + count(each), 1 + keys)
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

const texts = fc
  .tuple(fc.jsonValue(), fc.constantFrom('', ' ', '\n', '\t\r\n'))
  .map(([value, indent]) => ({
    value,
    text: indent + JSON.stringify(value, null, indent) + indent,
  }))

test('a scan counts the values and keys that JSON.parse creates', () => {
  fc.assert(
    fc.property(texts, ({ text }) => {
      assert.equal(scan(text), count(JSON.parse(text)))
    }),
    { numRuns: 300 },
  )
})

test('a scan ends at the first value or level over its limit, and not before', () => {
  fc.assert(
    fc.property(texts, ({ text }) => {
      const value: unknown = JSON.parse(text)
      const [values, depth] = [count(value), depthOf(value)]
      assert.equal(scan(text, values, depth), values)
      assert.throws(() => scan(text, values - 1), /at most \d+ values/)
      if (depth > 0) assert.throws(() => scan(text, NO_LIMIT, depth - 1), /at most \d+ deep/)
    }),
    { numRuns: 300 },
  )
})

test('a scan ends for a text that is not JSON', () => {
  const broken = ['', ' ', '"', '"\\', '"\\"', '[[', ']]]', '}{', '\\', 'nul', '[1,,2', '\ud800']
  for (const text of broken) assert.equal(typeof scan(text), 'number', text)
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const limits = { jsonValues: NO_LIMIT, jsonDepth: NO_LIMIT }
      assert.ok(countJsonValues(bytes, limits) <= bytes.length)
    }),
    { numRuns: 300 },
  )
})
