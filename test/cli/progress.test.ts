import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteStream } from 'node:tty'
import { createProgress, createStatusLine, withElapsed } from '../../cli/progress.ts'

/** Records the output to a terminal of 80 columns. */
function createTerminal() {
  const sent: string[] = []
  const stream = { isTTY: true, columns: 80, write: (text: string) => sent.push(text) }
  return { stream: stream as unknown as WriteStream, text: () => sent.join('') }
}

test('a finished progress bar is full and stays on its own line', () => {
  const { stream, text } = createTerminal()
  const progress = createProgress(stream, 1_000)
  progress.update({ bytes: 1_000, rows: 97 }) // the last row is not stored yet
  progress.finish(100)
  progress.end()
  const lines = text().split('\r').slice(1)
  assert.match(lines[0] ?? '', /^\[#{24}\] {2}99% {2}97 rows .* s left/)
  assert.match(lines[1] ?? '', /^\[#{24}\] 100% {2}100 rows .* in \d+ s/)
  assert.ok(text().endsWith('\x1b[K\n'))
  assert.equal(lines.length, 2)
})

test('the progress bar of a failed import is removed', () => {
  const { stream, text } = createTerminal()
  const progress = createProgress(stream, 1_000)
  progress.update({ bytes: 500, rows: 50 })
  progress.end()
  assert.ok(text().endsWith('\r\x1b[K'))
})

test('work without known progress shows its elapsed seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 1_000
  t.mock.method(performance, 'now', () => now)
  const { stream, text } = createTerminal()
  const done = withElapsed(stream, 'Checking', () => Promise.resolve())
  now += 2_000
  t.mock.timers.tick(1_000)
  await done
  assert.equal(text(), '\rChecking\x1b[K\rChecking: 2 s\x1b[K\r\x1b[K')
})

test('the text is shown before the work begins, which may block the event loop', async () => {
  const { stream, text } = createTerminal()
  const shown = await withElapsed(stream, 'Checking', async () => text())
  assert.equal(shown, '\rChecking\x1b[K')
})

test('progress is only printed to a terminal', () => {
  const { stream, text } = createTerminal()
  Object.assign(stream, { isTTY: false })
  createStatusLine(stream).finish('copying')
  createProgress(stream, 1).finish(1)
  assert.equal(text(), '')
})
