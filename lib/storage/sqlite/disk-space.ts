import { statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { spareBytes } from '../../disk-space.ts'
import type { StorageSize } from '../sql/records.ts'
import type { Connection } from './connection.ts'
import { diskFullError } from './drivers.ts'

/**
 * Throws if an import would use the reserve. Deleting rows needs space in the WAL, so an import that
 * fills the disk could not be undone. Takes 60 µs.
 */
export async function assertDiskSpace(db: Connection): Promise<void> {
  const isLow = (await makeDiskSpace(db)) < 0
  if (isLow) throw diskFullError(new Error('only the reserve of the disk is left'))
}

/** Returns the free bytes beyond the reserve. If there are none, first empties the WAL. */
export async function makeDiskSpace(db: Connection): Promise<number> {
  const { path } = db
  if (path === undefined) return Number.POSITIVE_INFINITY
  // A checkpoint may enlarge the file by the size of the WAL.
  const spare = () => spareBytes(path) - bytesOf(`${path}-wal`)
  if (spare() < 0) await db.emptyLog().catch(() => {})
  return spare()
}

/** The bytes of the file and its WAL, and the free bytes of the file system. */
export async function sizeOf(path: string): Promise<StorageSize> {
  const { bavail, bsize } = await statfs(dirname(path))
  return { database: bytesOf(path), wal: bytesOf(`${path}-wal`), free: bavail * bsize }
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
