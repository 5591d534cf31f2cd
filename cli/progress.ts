import type { OutputStream } from './io.ts'

interface Done {
  readonly bytes: number
  readonly rows: number
}

const REDRAW_MS = 100
const BAR_WIDTH = 24

/** Creates a progress bar for `total` bytes (0 when unknown). Prints only to a terminal. */
export function createProgress(stream: OutputStream, total: number) {
  const line = createStatusLine(stream)
  const started = performance.now()
  const format = (done: Done, isFinished = false) =>
    formatProgress(done, total, (performance.now() - started) / 1000, isFinished)
  return {
    update: (done: Done) => line.update(() => format(done)),
    /** Fills the bar, and leaves it on the screen. */
    finish: (rows: number) => line.finish(format({ bytes: total, rows }, true)),
    end: line.end,
  }
}

/** A status line that each update overwrites. Prints only to a terminal. */
export function createStatusLine(stream: OutputStream) {
  let drawn = Number.NEGATIVE_INFINITY
  let isFinished = false
  const draw = (text: string) => {
    if (stream.isTTY) stream.write(`\r${text.slice(0, (stream.columns ?? 80) - 1)}\x1b[K`)
  }
  return {
    /** Writes the text, at most ten times a second. */
    update(text: () => string): void {
      const now = performance.now()
      if (!stream.isTTY || now - drawn < REDRAW_MS) return
      drawn = now
      draw(text())
    },
    /** Writes the text, and leaves it on the screen. */
    finish(text: string): void {
      isFinished = true
      draw(text)
      if (stream.isTTY) stream.write('\n')
    },
    /** Removes the line from the screen unless `finish` was called. */
    end(): void {
      if (drawn > 0 && !isFinished) stream.write('\r\x1b[K')
      isFinished = true
    },
  }
}

/**
 * Shows a text and the elapsed seconds until `work` has ended. They stand still while the event loop
 * is blocked. Prints only to a terminal.
 */
export async function withElapsed<T>(
  stream: OutputStream,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const line = createStatusLine(stream)
  const started = performance.now()
  line.update(() => text)
  const timer = setInterval(() => {
    line.update(() => `${text}: ${Math.floor((performance.now() - started) / 1000)} s`)
  }, 1_000)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    line.end()
  }
}

/** `[#####     ]  45%  120,000 rows  240,000 rows/s  2 s left`; at the end, `100%` and `in 4 s`. */
function formatProgress(
  { bytes, rows }: Done,
  total: number,
  seconds: number,
  isFinished = false,
): string {
  const count = (value: number) => Math.round(value).toLocaleString('en-US')
  const rate = `${count(rows)} rows  ${count(rows / Math.max(seconds, 0.001))} rows/s`
  if (total === 0) return rate
  // Shows at most 99 % until the end: rows are still being stored after the last byte is read.
  const part = isFinished ? 1 : Math.min(bytes / total, 0.99)
  const bar = '#'.repeat(Math.round(part * BAR_WIDTH)).padEnd(BAR_WIDTH)
  const left = part > 0 ? Math.ceil(seconds / part - seconds) : 0
  const time = isFinished ? `in ${Math.ceil(seconds)} s` : `${left} s left`
  return `[${bar}] ${String(Math.floor(part * 100)).padStart(3)}%  ${rate}  ${time}`
}
