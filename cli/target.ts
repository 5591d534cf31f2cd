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
  // A device or a pipe takes the text as it comes: a file must not take its place.
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true
  return {
    write: (text) => (isFile ? writeWhole(text, path) : pipeline(text, createWriteStream(path))),
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

async function writeWhole(text: AsyncIterable<string>, path: string): Promise<void> {
  const part = `${path}.part`
  try {
    await interruptible(`${path} was not written`, (signal) =>
      pipeline(text, createWriteStream(part), { signal }),
    )
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
