/** The most rows that are examined. */
export const MAX_ROWS = 10_000

/** The first rows of a file. */
export interface Sample {
  readonly chunks: readonly Uint8Array[]
  /** Whether the file has more rows. */
  readonly isPartial: boolean
}

/** Wide rows are fewer than 10,000. */
const MAX_BYTES = 8 * 1024 * 1024
/** Lines above the header, and one after the last row. */
const MORE_LINES = 60
const LF = 0x0a

/**
 * Collects the first rows of a file. `push` returns whether it takes more chunks.
 */
export function createSample() {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let lines = 0
  let isPartial = false
  return {
    push(chunk: Uint8Array): boolean {
      if (isPartial) return false
      const room = chunk.subarray(0, MAX_BYTES - bytes)
      let end = 0
      while (lines < MAX_ROWS + MORE_LINES && end < room.length) {
        const at = room.indexOf(LF, end)
        if (at === -1) break
        lines++
        end = at + 1
      }
      const isFull = lines >= MAX_ROWS + MORE_LINES
      const kept = isFull ? room.subarray(0, end) : room
      isPartial = kept.length < chunk.length
      bytes += kept.length
      // Copies the chunk: the source may use its memory again.
      if (kept.length > 0) chunks.push(kept.slice())
      return !isPartial
    },
    end: (): Sample => ({ chunks, isPartial }),
  }
}
