import type { CsvParser } from './interface.ts'

const MALFORMED = Uint8Array.of(0xff)

/**
 * Converts UTF-16 to UTF-8, so that all other code handles one encoding. A lone surrogate or an
 * incomplete code unit becomes malformed UTF-8. The line reader then reports its line.
 */
export function createUtf16Reader(lines: CsvParser, littleEndian: boolean): CsvParser {
  const encoder = new TextEncoder()
  let rest = new Uint8Array()

  return {
    get isClosed() {
      return lines.isClosed
    },
    push(chunk) {
      const bytes = concat(rest, chunk)
      const view = new DataView(bytes.buffer)
      const units = Array.from({ length: bytes.length >> 1 }, (_, i) =>
        view.getUint16(2 * i, littleEndian),
      )
      // The second half of a surrogate pair may be in the next chunk.
      if (((units.at(-1) ?? 0) & 0xfc00) === 0xd800) units.pop()
      rest = bytes.slice(2 * units.length)
      // With the flag `u`, only lone surrogates match.
      const parts = String.fromCharCode(...units).split(/\p{Surrogate}/u)
      for (const [i, part] of parts.entries()) {
        if (i > 0) lines.push(MALFORMED)
        lines.push(encoder.encode(part))
      }
    },
    end() {
      if (rest.length > 0) lines.push(MALFORMED)
      lines.end()
    },
  }
}

export function concat(a: Uint8Array, b: Uint8Array) {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
