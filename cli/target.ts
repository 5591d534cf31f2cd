import { randomUUID } from 'node:crypto'
import { accessSync, constants, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { syncFolder } from '../lib/storage/folder.ts'
import { UsageError } from './command.ts'
import { interruptible } from './interrupt.ts'

/** A file that a command writes. */
export interface Target {
  /**
   * Replaces the file in one step, and has it on the disk when it resolves. When it rejects, also
   * after Ctrl-C, the file is as it was. A device or a pipe takes the text as it comes.
   */
  write(text: AsyncIterable<string>): Promise<void>
}

/**
 * A file to be written, validated before any work is done for it: its directory must be writable,
 * and it must be none of the files that the command reads, under whatever name.
 */
export function createTarget(option: string, path: string, others: readonly string[]): Target {
  if (others.some((other) => isSameFile(path, other))) {
    throw new UsageError(`${option} ${path} would overwrite what this command reads`)
  }
  if (/(^|[/\\])$/.test(path) || statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`${option}: '${path}' is a directory, not a file`)
  }
  try {
    const descriptors = isInDevices(path)
    const there = lstatSync(path, { throwIfNoEntry: false })
    if (there && (descriptors || isStream(there))) {
      return { write: (text) => writeInto(text, path, descriptors) }
    }
    accessSync(dirname(path), constants.W_OK)
  } catch (error) {
    throw new UsageError(`${option}: ${(error as Error).message}`)
  }
  return { write: (text) => replaceFile(text, path) }
}

/** The files of a database that are there while it is in use. */
export function databaseFiles(db: string): string[] {
  return [db, `${db}-wal`, `${db}-shm`]
}

function isSameFile(path: string, other: string): boolean {
  const [a, b] = [path, other].map((each) => statSync(each, { throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

/** Whether it is like /dev/stdout: never replaced, whatever the descriptor behind it is. */
function isInDevices(path: string): boolean {
  return /^\/(dev|proc\/.+)$/.test(realpathSync(dirname(path)))
}

function isStream(there: Stats): boolean {
  return !there.isFile() && !there.isSymbolicLink()
}

async function writeInto(
  text: AsyncIterable<string>,
  path: string,
  followsLinks: boolean,
): Promise<void> {
  // Neither creates nor empties a file: somebody may have put one or a link there meanwhile.
  const { O_WRONLY, O_APPEND, O_NOFOLLOW } = constants
  const file = await open(path, O_WRONLY | O_APPEND | (followsLinks ? 0 : O_NOFOLLOW))
  await pipeline(text, file.createWriteStream())
}

/**
 * Writes a temporary file beside it and renames that. Others may use the directory (`/tmp`): the
 * name can not be guessed and must be new, and a symbolic link at `path` is replaced, not followed.
 */
function replaceFile(text: AsyncIterable<string>, path: string): Promise<void> {
  return interruptible(`${path} was not written`, async (signal) => {
    const folder = dirname(path)
    const temporary = join(folder, `tillkit-${randomUUID()}.part`)
    const file = await open(temporary, 'wx', 0o600)
    const whole = async function* () {
      yield* text
      await file.chmod(modeOf(path))
    }
    try {
      await pipeline(whole, file.createWriteStream({ flush: true }), { signal }) // closes it, too
      await rename(temporary, path)
    } catch (error) {
      await file.close()
      await rm(temporary, { force: true })
      throw error
    }
    syncFolder(folder)
  })
}

/** For its owner alone, as it has purchases in it, unless the owner opened it to others before. */
function modeOf(path: string): number {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (!there?.isFile()) return 0o600
  const isOwn = there.uid === (process.getuid?.() ?? there.uid)
  return isOwn ? there.mode & 0o777 : 0o600
}
