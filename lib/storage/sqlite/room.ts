import { statfsSync, statSync } from 'node:fs'
import type { Connection } from './connection.ts'
import { diskFullError } from './drivers.ts'

/** What an import leaves free: for other writers, and for deleting what the import has written. */
const RESERVE_BYTES = 64 * 2 ** 20
/** The same on a small disk, as a part of it. */
const RESERVE_PART = 1 / 8

/**
 * Throws when the disk has no more than the reserve left for an import. To delete rows takes room in
 * the WAL first: an import that fills the disk could not be undone.
 */
export async function assertRoom(db: Connection): Promise<void> {
  if (!(await makeRoom(db))) throw diskFullError()
}

/** Empties the WAL when the disk has no more than the reserve left; false when that is too little. */
export async function makeRoom(db: Connection): Promise<boolean> {
  const path = db.find('PRAGMA database_list')?.file as string
  if (path === '' || hasRoom(path)) return true
  await db.emptyLog().catch(() => {})
  return hasRoom(path)
}

function hasRoom(path: string): boolean {
  const { bavail, bsize, blocks } = statfsSync(path)
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  // A checkpoint may make the file longer by as much as the WAL holds.
  const reserve = wal + Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_PART)
  return bavail * bsize >= reserve
}
