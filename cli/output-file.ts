import { randomUUID } from 'node:crypto'
import { accessSync, constants, lstatSync, realpathSync, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { UsageError } from './command-errors.ts'
import type { Io } from './io.ts'
import { interruptible } from './signals.ts'
import { describeSystemError } from './system-errors.ts'

/** A file that a command writes. */
export interface OutputFile {
  /**
   * Replaces the file atomically and durably. The file is unchanged when this rejects, also after
   * Ctrl-C. A device or a pipe gets the text in chunks.
   */
  write(text: AsyncIterable<string>): Promise<void>
}

/**
 * Checks an output file before any other work. Its directory must be writable, and it must not be
 * one of `inputs`, also not through a link.
 */
export function createOutputFile(
  io: Io,
  option: string,
  path: string,
  inputs: readonly string[],
): OutputFile {
  if (inputs.some((input) => isSameFile(path, input))) {
    throw new UsageError(`${option} ${path} would overwrite what this command reads`)
  }
  if (/(^|[/\\])$/.test(path) || statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`${option}: '${path}' is a directory, not a file`)
  }
  try {
    const descriptors = isInDevices(path)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    const isStream = stat && !stat.isFile() && !stat.isSymbolicLink()
    if (stat && (descriptors || isStream)) {
      return { write: (text) => appendTo(text, path, descriptors) }
    }
    accessSync(dirname(path), constants.W_OK)
  } catch (error) {
    throw new UsageError(`${option}: ${describeSystemError(error)}`)
  }
  return { write: (text) => replaceFile(io, text, path) }
}

/** The files of a SQLite database that is in use. */
export function databaseFiles(db: string): string[] {
  return [db, `${db}-wal`, `${db}-shm`]
}

function isSameFile(path: string, other: string): boolean {
  const [a, b] = [path, other].map((each) => statSync(each, { throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

/** Whether a path names a device or a descriptor, such as /dev/stdout. Those are never replaced. */
function isInDevices(path: string): boolean {
  return /^\/(dev|proc\/.+)$/.test(realpathSync(dirname(path)))
}

async function appendTo(
  text: AsyncIterable<string>,
  path: string,
  followsLinks: boolean,
): Promise<void> {
  // Another user may have put a file or a link there meanwhile: does not create, truncate or follow.
  const { O_WRONLY, O_APPEND, O_NOFOLLOW } = constants
  const file = await open(path, O_WRONLY | O_APPEND | (followsLinks ? 0 : O_NOFOLLOW))
  await pipeline(text, file.createWriteStream())
}

/**
 * Writes a temporary file in the same directory and renames it. Other users may write there, as in
 * `/tmp`: the temporary name is random and new, and a symbolic link at `path` is not followed.
 */
function replaceFile(io: Io, text: AsyncIterable<string>, path: string): Promise<void> {
  return interruptible(io, `${path} was not written`, async (signal) => {
    const folder = dirname(path)
    const temporary = join(folder, `tillkit-${randomUUID()}.part`)
    const file = await open(temporary, 'wx', 0o600)
    const source = async function* () {
      yield* text
      await file.chmod(modeOf(path))
    }
    try {
      await pipeline(source, file.createWriteStream({ flush: true }), { signal }) // closes the file
      await rename(temporary, path)
    } catch (error) {
      await file.close()
      await rm(temporary, { force: true })
      throw error
    }
    await syncFolder(folder)
  })
}

/** Makes a rename durable, where the system can open and sync a directory. */
async function syncFolder(folder: string): Promise<void> {
  const directory = await open(folder).catch(() => undefined)
  await directory?.sync().catch(() => {})
  await directory?.close()
}

/** Purchases are private: 0600, unless this user gave the existing file another mode. */
function modeOf(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile()) return 0o600
  const isOwn = stat.uid === (process.getuid?.() ?? stat.uid)
  return isOwn ? stat.mode & 0o777 : 0o600
}
