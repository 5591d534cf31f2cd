import { statfsSync, statSync } from 'node:fs'
import type { Connection } from './connection.ts'
import { diskFullError } from './drivers.ts'

/** Bytes that imports leave free, for other writers and for deleting an import's rows. */
const RESERVE_BYTES = 64 * 2 ** 20
/** The reserve is at most this part of the disk. */
const RESERVE_PART = 1 / 8

/**
 * Throws when an import would use the reserve. Deleting rows first takes space in the WAL, so that
 * an import which fills the disk could not be undone.
 */
export async function assertDiskSpace(db: Connection): Promise<void> {
  if (!(await makeDiskSpace(db))) throw diskFullError(RESERVE_USED)
}

const RESERVE_USED = Object.assign(new Error('only the reserve of the disk is left'), {
  code: 'SQLITE_FULL',
})

/** Empties the WAL when only the reserve is left. False when that frees too little. */
export async function makeDiskSpace(db: Connection): Promise<boolean> {
  const path = db.find('PRAGMA database_list')?.file as string
  if (path === '' || hasSpace(path)) return true
  await db.emptyLog().catch(() => {})
  return hasSpace(path)
}

function hasSpace(path: string): boolean {
  const { bavail, bsize, blocks } = statfsSync(path)
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  // A checkpoint may extend the file by as much as the WAL holds.
  const reserve = wal + Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_PART)
  return bavail * bsize >= reserve
}
