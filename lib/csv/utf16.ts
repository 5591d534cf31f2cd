import type { CsvParser } from './interface.ts'

const MALFORMED = Uint8Array.of(0xff)

/**
 * Converts UTF-16 to UTF-8, so that all other code handles one encoding. The decoder replaces a lone
 * surrogate or an incomplete code unit by U+FFFD, which becomes malformed UTF-8. The line reader then
 * reports its line.
 */
export function createUtf16Reader(lines: CsvParser, encoding: 'utf-16le' | 'utf-16be'): CsvParser {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true })
  const encoder = new TextEncoder()
  const read = (text: string) => {
    for (const [i, part] of text.split('\uFFFD').entries()) {
      if (i > 0) lines.push(MALFORMED)
      lines.push(encoder.encode(part))
    }
  }
  return {
    get isClosed() {
      return lines.isClosed
    },
    push: (chunk) => read(decoder.decode(chunk, { stream: true })),
    end() {
      read(decoder.decode())
      lines.end()
    },
  }
}
