import { statfsSync, statSync } from 'node:fs'
import type { Connection } from './connection.ts'
import { diskFullError } from './drivers.ts'

/** What an import leaves free: for other writers, and for deleting what the import has written. */
const RESERVE_BYTES = 64 * 2 ** 20
/** The same on a small disk, as a part of it. */
const RESERVE_PART = 1 / 8

/** With so much beyond the reserve, an import checks one slice in 16: a check takes 60 µs (2 %). */
const PLENTY_BYTES = 2 ** 30
const PLENTY_SLICES = 16

/**
 * A check to call before each slice of an import: throws when the disk has only the reserve left. An
 * import that fills the disk could not be undone, because to delete rows takes room in the WAL first.
 */
export function createRoomCheck(db: Connection): () => Promise<void> {
  let slicesToSkip = 0
  return async () => {
    if (slicesToSkip-- > 0) return
    const spare = await makeRoom(db)
    if (spare < 0) throw diskFullError()
    slicesToSkip = spare < PLENTY_BYTES ? 0 : PLENTY_SLICES - 1
  }
}

/** The bytes beyond the reserve; empties the WAL first when there are none. */
export async function makeRoom(db: Connection): Promise<number> {
  const path = db.find('PRAGMA database_list')?.file as string
  if (path === '') return Number.POSITIVE_INFINITY
  const spare = spareBytes(path)
  if (spare >= 0) return spare
  await db.emptyLog().catch(() => {})
  return spareBytes(path)
}

function spareBytes(path: string): number {
  const { bavail, bsize, blocks } = statfsSync(path)
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  // A checkpoint may make the file longer by as much as the WAL holds.
  const reserve = wal + Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_PART)
  return bavail * bsize - reserve
}
