import { statfsSync } from 'node:fs'

/** The bytes that imports and uploads leave free on a disk, for all other writes. */
const RESERVE_BYTES = 64 * 2 ** 20
/** The reserve of free space takes at most this fraction of the disk. */
const RESERVE_PART = 1 / 8

/**
 * Returns the free bytes beyond the reserve; negative if the reserve is in use. Takes 10 µs. A file
 * system without a size, such as ramfs, reports 0 blocks.
 */
export function spareBytes(path: string): number {
  const { bavail, bsize, blocks } = statfsSync(path)
  if (blocks === 0) return Number.POSITIVE_INFINITY
  return bavail * bsize - Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_PART)
}
