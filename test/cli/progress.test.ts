import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteStream } from 'node:tty'
import { createProgress, createStatusLine } from '../../cli/progress.ts'

/** What a terminal of 80 columns is sent. */
function createTerminal() {
  const sent: string[] = []
  const stream = { isTTY: true, columns: 80, write: (text: string) => sent.push(text) }
  return { stream: stream as unknown as WriteStream, text: () => sent.join('') }
}

test('a bar ends full, on a line of its own', () => {
  const { stream, text } = createTerminal()
  const progress = createProgress(stream, 1_000)
  progress.update({ bytes: 980, rows: 97 })
  progress.finish(100)
  progress.end()
  const lines = text().split('\r').slice(1)
  assert.match(lines[0] ?? '', /^\[#{24}\] {2}98% {2}97 rows .* s left/)
  assert.match(lines[1] ?? '', /^\[#{24}\] 100% {2}100 rows .* in \d+ s/)
  assert.ok(text().endsWith('\x1b[K\n'))
  assert.equal(lines.length, 2)
})

test('a bar never says 100 % before the last row is in', () => {
  const { stream, text } = createTerminal()
  createProgress(stream, 1_000).update({ bytes: 1_000, rows: 99 })
  assert.match(text(), / 99% /)
})

test('the bar of an import that fails is taken away', () => {
  const { stream, text } = createTerminal()
  const progress = createProgress(stream, 1_000)
  progress.update({ bytes: 500, rows: 50 })
  progress.end()
  assert.ok(text().endsWith('\r\x1b[K'))
})

test('a line on a terminal is not longer than it, and is taken away at the end', () => {
  const { stream, text } = createTerminal()
  const line = createStatusLine(stream)
  line.update(() => 'copying purchases: '.padEnd(100, '9'))
  line.end()
  const [, first, last] = text().split('\r')
  assert.equal(first, `${'copying purchases: '.padEnd(79, '9')}\x1b[K`)
  assert.equal(last, '\x1b[K')
})

test('what is no terminal gets no progress', () => {
  const { stream, text } = createTerminal()
  Object.assign(stream, { isTTY: false })
  createStatusLine(stream).finish('copying')
  createProgress(stream, 1).finish(1)
  assert.equal(text(), '')
})
