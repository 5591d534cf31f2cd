import type { CsvParser } from './parser.ts'
import { MAX_HEADER_BYTES, type RecordReader } from './records.ts'

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22

/**
 * Cuts bytes at the last LF, which is no part of a longer UTF-8 sequence: so each decode is one
 * whole call, and what the record reader gets ends where a line does.
 */
export function createLineReader(
  open: (delimiter: string) => RecordReader,
  maxRowLength: number,
): CsvParser {
  // A UTF-16 unit takes 3 bytes of UTF-8 at most: a line of more than these is too long for sure.
  const maxBytes = 3 * maxRowLength
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true })
  const header = createHeaderScan()
  let records: RecordReader | undefined
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
    records ??= open(header.delimiter())
    const text = decode(bytes)
    if (text === undefined) flushByLine(bytes, records)
    else records.push(text)
    buffer.copyWithin(0, end, held)
    held -= end
  }

  /** Malformed lines are read all the same, leniently: their quotes say where the record ends. */
  function flushByLine(bytes: Uint8Array, records: RecordReader) {
    for (let at = 0, end = 0; at < bytes.length; at = end) {
      end = bytes.indexOf(LF, at) + 1 || bytes.length
      const line = bytes.subarray(at, end)
      const text = lenient.decode(line)
      if (isWellFormed(line, text)) records.push(text)
      else records.pushMalformed(text)
    }
  }

  function decode(bytes: Uint8Array): string | undefined {
    try {
      return strict.decode(bytes)
    } catch {
      return undefined
    }
  }

  /** The whole lines before the limit may tell what is wrong: a misplaced quote, for one. */
  function refuseHeader() {
    held = buffer.subarray(0, MAX_HEADER_BYTES).lastIndexOf(LF) + 1
    flush(held)
    records?.refuseHeader()
  }

  return {
    get isClosed() {
      return records?.isClosed ?? false
    },
    push(piece) {
      if (records?.isClosed) return
      const bytes = held > maxBytes ? fromLineEnd(piece) : piece
      const whole = held + bytes.lastIndexOf(LF) + 1
      const hasLine = whole > held
      hold(bytes)
      if (records === undefined) header.scan(bytes)
      if (header.isTooLong) refuseHeader()
      else if (hasLine && header.isDone) flush(whole)
    },
    end() {
      if (records?.isClosed) return
      flush(held)
      records?.end()
    },
  }
}

/**
 * Whether all replacement characters in the text stand in the bytes too. A strict decoder says the
 * same by an exception, which takes 9 µs: 64 KiB of malformed lines took 0.3 s.
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

/** The rest of a line of which enough is known. */
function fromLineEnd(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(LF)
  return bytes.subarray(end === -1 ? bytes.length : end)
}

/** Looks for the end of the header, which may have line breaks in quotes, and counts delimiters. */
function createHeaderScan() {
  const counts = new Uint32Array(256)
  const count = (byte: number) => counts[byte] ?? 0
  let scanned = 0
  let begun = false
  let quoted = false
  let isDone = false

  return {
    /** Whether the header has ended in the bytes scanned. */
    get isDone() {
      return isDone
    },
    /** Whether it has not ended where it must. */
    get isTooLong() {
      return !isDone && scanned > MAX_HEADER_BYTES
    },
    scan(bytes: Uint8Array) {
      for (const byte of bytes) {
        if (isDone || scanned > MAX_HEADER_BYTES) return
        if (byte === QUOTE) quoted = !quoted
        else if (!quoted) counts[byte] = count(byte) + 1
        isDone = byte === LF && begun && !quoted
        begun ||= byte !== LF && byte !== CR
        scanned++
      }
    },
    /** The most frequent one; in a tie the one that is named first here. */
    delimiter(): string {
      const codes = [',', ';', '\t'].map((each) => each.charCodeAt(0))
      return String.fromCharCode(
        codes.reduce((best, next) => (count(next) > count(best) ? next : best)),
      )
    },
  }
}

/**
 * Turns UTF-16 into UTF-8, so that all else knows one encoding. What is malformed (a surrogate that
 * is alone, half a unit at the end) becomes malformed UTF-8: the line reader finds it, and its
 * line.
 */
export function createUtf16Reader(lines: CsvParser, littleEndian: boolean): CsvParser {
  let rest = new Uint8Array()

  return {
    get isClosed() {
      return lines.isClosed
    },
    push(piece) {
      const bytes = concat(rest, piece)
      const view = new DataView(bytes.buffer)
      const utf8 = new Uint8Array(bytes.length * 2)
      let length = 0
      let at = 0
      while (at + 2 <= bytes.length) {
        let code = view.getUint16(at, littleEndian)
        const isLead = (code & 0xfc00) === 0xd800
        if (isLead && at + 4 > bytes.length) break
        const write = isLead ? view.getUint16(at + 2, littleEndian) : 0
        const isPair = (write & 0xfc00) === 0xdc00
        if (isPair) code = 0x10000 + ((code & 0x3ff) << 10) + (write & 0x3ff)
        length = writeUtf8(utf8, length, code)
        at += isPair ? 4 : 2
      }
      rest = bytes.slice(at)
      lines.push(utf8.subarray(0, length))
    },
    end() {
      if (rest.length > 0) lines.push(Uint8Array.of(0xff))
      lines.end()
    },
  }
}

function writeUtf8(out: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    out[at] = code
    return at + 1
  }
  const tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3
  out[at] = (0xff00 >> (tails + 1)) | (code >> (6 * tails))
  for (let i = 1; i <= tails; i++) out[at + i] = 0x80 | ((code >> (6 * (tails - i))) & 0x3f)
  return at + tails + 1
}

export function concat(a: Uint8Array, b: Uint8Array) {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
