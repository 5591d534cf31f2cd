import { accessSync, constants, createWriteStream, statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { UsageError } from './command.ts'
import { interruptible } from './interrupt.ts'

/** A file that a command writes. */
export interface Target {
  /** Under another name until it is whole: half a file must not be taken for one. */
  write(text: AsyncIterable<string>): Promise<void>
}

/**
 * A file to be written, judged before any work is done for it: its folder must be there, and it
 * must be none of the files that the command reads, under whatever name.
 */
export function createTarget(option: string, path: string, others: readonly string[]): Target {
  if (others.some((other) => isSameFile(path, other))) {
    throw new UsageError(`${option} ${path} would overwrite what this command reads`)
  }
  try {
    accessSync(dirname(path), constants.W_OK)
  } catch (error) {
    throw new UsageError(`${option}: ${(error as Error).message}`)
  }
  const there = statSync(path, { throwIfNoEntry: false })
  // A device or a pipe takes the text as it comes: a file must not take its place.
  const isFile = there?.isFile() ?? true
  // Purchases are people's; who has opened a file to others may have it so again.
  const mode = (there?.mode ?? 0o600) & 0o777
  return {
    write: (text) =>
      isFile ? writeWhole(text, path, mode) : pipeline(text, createWriteStream(path)),
  }
}

/** The files of a database that are there while it is in use. */
export function databaseFiles(db: string): string[] {
  return [db, `${db}-wal`, `${db}-shm`]
}

function isSameFile(path: string, other: string): boolean {
  const [a, b] = [path, other].map((each) => statSync(each, { throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

async function writeWhole(text: AsyncIterable<string>, path: string, mode: number): Promise<void> {
  const part = `${path}.part`
  try {
    await interruptible(`${path} was not written`, (signal) =>
      pipeline(text, createWriteStream(part, { mode }), { signal }),
    )
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
