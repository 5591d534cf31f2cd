import { fstatSync, writeFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { Io, OutputStream } from '../io.ts'

/** Lines are dropped while the reader of a pipe is this many bytes behind. */
const MAX_UNREAD = 8 * 2 ** 20

/**
 * Collects the log lines of one event-loop turn, and writes them to stderr together. Under load,
 * one write for each line takes more time than all other work of the CLI for a request.
 *
 * Drops lines when the disk is full or when the reader is too slow. `formatLost` returns the line
 * that is written in place of a number of dropped lines.
 */
export function createLogWriter(
  io: Io,
  formatLost: (lines: number) => string,
): (line: string) => void {
  const write = createWrite(io.stderr)
  let text = ''
  let lines = 0
  let lost = 0
  const flush = () => {
    if (lines === 0) return
    const isWritten = write(lost === 0 ? text : `${formatLost(lost)}\n${text}`)
    lost = isWritten ? 0 : lost + lines
    text = ''
    lines = 0
  }
  io.once('exit', flush)
  return (line) => {
    if (lines === 0) setImmediate(flush)
    lines++
    text += `${line}\n`
  }
}

/** Returns false if a text could not be written. */
type Write = (text: string) => boolean

function createWrite(stream: OutputStream): Write {
  const { fd } = stream
  if (fd !== undefined && isFile(fd)) return createFileWrite(fd)
  return (text) => {
    if (stream.writableLength > MAX_UNREAD) return false
    if (stream.writable) stream.write(text) // the stream is not writable if its reader has ended
    return true
  }
}

/** Whether a file descriptor is a file or device, but neither a terminal nor a pipe. */
function isFile(fd: number): boolean {
  const stats = fstatSync(fd)
  return stats.isFile() || (stats.isCharacterDevice() && !isatty(fd))
}

/** Writes without Node's stream, which writes nothing more after an error such as a full disk. */
function createFileWrite(fd: number): Write {
  let mayBeCut = false
  return (lines) => {
    try {
      writeFileSync(fd, mayBeCut ? `\n${lines}` : lines)
      mayBeCut = false
    } catch {
      mayBeCut = true
    }
    return !mayBeCut
  }
}
