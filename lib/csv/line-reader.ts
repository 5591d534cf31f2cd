import type { CsvParser } from './interface.ts'
import { MAX_HEADER_BYTES } from './messages.ts'
import type { RowReader } from './row-reader.ts'

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22

/**
 * Splits a file after line ends (LF). No other UTF-8 character contains the byte LF, so the decoder
 * gets whole characters and the row reader gets whole lines.
 */
export function createLineReader(
  open: (delimiter: string) => RowReader,
  maxRowLength: number,
): CsvParser {
  // A code unit takes at most 3 bytes in UTF-8. A line of more than `maxBytes` is always too long.
  const maxBytes = 3 * maxRowLength
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const header = createHeaderScan()
  let reader: RowReader | undefined
  let buffer = new Uint8Array()
  let held = 0

  function hold(bytes: Uint8Array) {
    if (held + bytes.length > buffer.length) {
      const larger = new Uint8Array(2 * (held + bytes.length))
      larger.set(buffer.subarray(0, held))
      buffer = larger
    }
    buffer.set(bytes, held)
    held += bytes.length
  }

  function flush(end: number) {
    const bytes = buffer.subarray(0, end)
    reader ??= open(header.delimiter())
    const text = decoder.decode(bytes)
    if (isWellFormed(bytes, text)) reader.push(text)
    else flushByLine(bytes, reader)
    buffer.copyWithin(0, end, held)
    held -= end
  }

  /** Reads lines of invalid UTF-8 too, because their quotes show where a row ends. */
  function flushByLine(bytes: Uint8Array, reader: RowReader) {
    for (let at = 0, end = 0; at < bytes.length; at = end) {
      end = bytes.indexOf(LF, at) + 1 || bytes.length
      const line = bytes.subarray(at, end)
      const text = decoder.decode(line)
      if (isWellFormed(line, text)) reader.push(text)
      else reader.pushMalformed(text)
    }
  }

  /**
   * Reports that the header is too long. First reads the complete lines in the buffer, because they
   * may have another error. A line may also end with CR alone, which is such an error.
   */
  function refuseHeader() {
    const head = buffer.subarray(0, MAX_HEADER_BYTES + 1)
    held = Math.max(head.lastIndexOf(LF), head.lastIndexOf(CR, -2)) + 1 // never between CR and LF
    flush(held)
    reader?.refuseHeader()
  }

  return {
    get isClosed() {
      return reader?.isClosed ?? false
    },
    push(chunk) {
      if (reader?.isClosed) return
      const bytes = held > maxBytes ? fromLineEnd(chunk) : chunk
      const whole = held + bytes.lastIndexOf(LF) + 1
      const hasLine = whole > held
      hold(bytes)
      if (reader === undefined) header.scan(bytes)
      if (header.isTooLong) refuseHeader()
      else if (hasLine && header.isDone) flush(whole)
    },
    end() {
      if (reader?.isClosed) return
      flush(held)
      reader?.end()
    },
  }
}

/**
 * Whether the bytes are valid UTF-8. The decoder replaces invalid bytes by U+FFFD. The bytes are
 * valid if they contain the encoding of U+FFFD as often as the text contains U+FFFD. A decoder that
 * throws would take 9 µs for each malformed line, or 0.3 s for 64 KiB of such lines.
 */
function isWellFormed(bytes: Uint8Array, text: string): boolean {
  let added = 0
  for (let at = text.indexOf('\uFFFD'); at !== -1; at = text.indexOf('\uFFFD', at + 1)) added++
  if (added === 0) return true
  for (let at = bytes.indexOf(0xef); at !== -1; at = bytes.indexOf(0xef, at + 1)) {
    if (bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd) added--
  }
  return added === 0
}

/** Skips to the end of a line that is already too long. */
function fromLineEnd(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(LF)
  return bytes.subarray(end === -1 ? bytes.length : end)
}

/** Finds the end of the header line and counts delimiters. Quoted cells may have line breaks. */
export function createHeaderScan() {
  const counts = new Uint32Array(256)
  const count = (byte: number) => counts[byte] ?? 0
  let scanned = 0
  let hasBegun = false
  let isQuoted = false
  let isDone = false

  return {
    /** Whether the scanned bytes contain the end of the header. */
    get isDone() {
      return isDone
    },
    /** The number of scanned bytes: at most up to the end of the header. */
    get length() {
      return scanned
    },
    get isTooLong() {
      return !isDone && scanned > MAX_HEADER_BYTES
    },
    scan(bytes: Uint8Array) {
      for (const byte of bytes) {
        if (isDone || scanned > MAX_HEADER_BYTES) return
        if (byte === QUOTE) isQuoted = !isQuoted
        else if (!isQuoted) counts[byte] = count(byte) + 1
        isDone = byte === LF && hasBegun && !isQuoted
        hasBegun ||= byte !== LF && byte !== CR
        scanned++
      }
    },
    /**
     * The most frequent delimiter outside quotes; of equally frequent ones, the first in this list.
     */
    delimiter(): string {
      const codes = [',', ';', '\t'].map((each) => each.charCodeAt(0))
      return String.fromCharCode(
        codes.reduce((best, next) => (count(next) > count(best) ? next : best)),
      )
    },
  }
}
