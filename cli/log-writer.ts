import { fstatSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { Io, OutputStream } from './io.ts'

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

/** Reuses one buffer: encoding each write into a new one takes 0.15 µs more a line (bench/read). */
const BUFFER_BYTES = 256 * 1024

/** Writes without Node's stream, which writes nothing more after an error such as a full disk. */
function createFileWrite(fd: number): Write {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  let isCut = false
  return (lines) => {
    const text = isCut ? `\n${lines}` : lines
    const fits = 3 * text.length <= buffer.length // UTF-8 takes at most 3 bytes a UTF-16 unit
    const bytes = fits ? buffer : Buffer.from(text)
    const end = fits ? buffer.write(text) : bytes.length
    let written = 0
    try {
      while (written < end) written += writeSync(fd, bytes, written, end - written)
      isCut = false
    } catch {
      isCut ||= written > 0
      return false
    }
    return true
  }
}
