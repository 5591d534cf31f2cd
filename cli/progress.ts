import type { WriteStream } from 'node:tty'

/** A bar on one line of a terminal. */
export interface Progress {
  update(done: { readonly bytes: number; readonly rows: number }): void
  /** Takes the bar away. */
  end(): void
}

const SILENT: Progress = { update() {}, end() {} }
const REDRAW_MS = 100
const BAR_WIDTH = 24

/** A progress bar when the stream is a terminal, else nothing. `total` bytes; 0 when unknown. */
export function createProgress(stream: WriteStream, total: number): Progress {
  if (!stream.isTTY) return SILENT
  const started = performance.now()
  let drawn = 0
  return {
    update(done) {
      const now = performance.now()
      if (now - drawn < REDRAW_MS) return
      drawn = now
      const line = formatProgress(done, total, (now - started) / 1000)
      stream.write(`\r${line.slice(0, (stream.columns ?? 80) - 1)}\x1b[K`)
    },
    end() {
      if (drawn > 0) stream.write('\r\x1b[K')
    },
  }
}

/** `[#####     ]  45%  120,000 rows  240,000 rows/s  2 s left` */
export function formatProgress(
  { bytes, rows }: { readonly bytes: number; readonly rows: number },
  total: number,
  seconds: number,
): string {
  const count = (value: number) => Math.round(value).toLocaleString('en-US')
  const rate = `${count(rows)} rows  ${count(rows / Math.max(seconds, 0.001))} rows/s`
  if (total === 0) return rate
  const part = Math.min(bytes / total, 1)
  const bar = '#'.repeat(Math.round(part * BAR_WIDTH)).padEnd(BAR_WIDTH)
  const left = part > 0 ? Math.ceil(seconds / part - seconds) : 0
  return `[${bar}] ${String(Math.floor(part * 100)).padStart(3)}%  ${rate}  ${left} s left`
}
