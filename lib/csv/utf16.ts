import type { CsvParser } from './interface.ts'

/**
 * Converts UTF-16 to UTF-8, so that all other code handles one encoding. A lone surrogate or an
 * incomplete code unit becomes malformed UTF-8. The line reader then reports its line.
 */
export function createUtf16Reader(lines: CsvParser, littleEndian: boolean): CsvParser {
  let rest = new Uint8Array()

  return {
    get isClosed() {
      return lines.isClosed
    },
    push(chunk) {
      const bytes = concat(rest, chunk)
      const view = new DataView(bytes.buffer)
      const utf8 = new Uint8Array(bytes.length * 2)
      let length = 0
      let at = 0
      while (at + 2 <= bytes.length) {
        let code = view.getUint16(at, littleEndian)
        const isLead = (code & 0xfc00) === 0xd800
        if (isLead && at + 4 > bytes.length) break
        const trail = isLead ? view.getUint16(at + 2, littleEndian) : 0
        const isPair = (trail & 0xfc00) === 0xdc00
        if (isPair) code = 0x10000 + ((code & 0x3ff) << 10) + (trail & 0x3ff)
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
