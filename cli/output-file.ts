import {
  accessSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Invocation } from './command.ts'
import { UsageError } from './command-errors.ts'
import type { Io } from './io.ts'
import { printFile } from './output.ts'
import { interruptible } from './signals.ts'
import { describeSystemError } from './system-errors.ts'

/** The parts of a command that the check of an output file needs. */
type Writing = Pick<Invocation, 'io' | 'inputs'>

/**
 * Checks an output file before any other work. Its directory must be writable. The file must not be
 * one of `inputs`, nor a link to one, nor belong to a SQLite database.
 *
 * The returned `write` replaces the file atomically and durably. When it rejects, also after Ctrl-C, the
 * old file is unchanged. Writes to a device or a pipe in chunks.
 */
export function createOutputFile(
  { io, inputs }: Writing,
  option: string,
  path: string,
): { write(text: AsyncIterable<string>): Promise<void> } {
  if (inputs.some((input) => isSameFile(path, input))) {
    throw new UsageError(`${option} ${path} would overwrite what this command reads`)
  }
  if (/(^|[/\\])$/.test(path) || statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`${option}: '${path}' is a directory, not a file`)
  }
  let isDatabase: boolean
  try {
    const descriptors = isInDevices(path)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    const isStream = stat && !stat.isFile() && !stat.isSymbolicLink()
    if (stat && (descriptors || isStream)) {
      return { write: (text) => appendTo(text, path, descriptors) }
    }
    accessSync(dirname(path), constants.W_OK)
    isDatabase = isOfDatabase(path)
  } catch (error) {
    throw new UsageError(`${option}: ${describeSystemError(error)}`)
  }
  if (isDatabase) throw new UsageError(`${option} ${path} would overwrite a database`)
  return { write: (text) => replaceFile(io, text, path) }
}

/**
 * Creates the function that writes an export to the file of `--out`, and says so, or else to
 * standard output. `name` says what was exported.
 */
export function createExport(writing: Writing, out: string | undefined) {
  const { io } = writing
  const file = out === undefined ? undefined : createOutputFile(writing, '--out', out)
  return async (text: AsyncIterable<string>, name = () => 'all'): Promise<void> => {
    if (!file) return printFile(text, io.stdout)
    await file.write(text)
    io.stderr.write(`Exported ${name()} to ${out}\n`)
  }
}

const OF_DATABASE = ['', '-wal', '-shm']

/** The files that SQLite uses for a database. */
export function databaseFiles(db: string): string[] {
  return OF_DATABASE.map((end) => db + end)
}

/** Whether a path is that of a SQLite database, or of a file that SQLite has or makes beside one. */
function isOfDatabase(path: string): boolean {
  return OF_DATABASE.some(
    (end) => path.endsWith(end) && isDatabase(path.slice(0, -end.length || undefined)),
  )
}

const SQLITE = 'SQLite format 3\0'

function isDatabase(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false
  const file = openSync(path, 'r')
  try {
    const head = Buffer.alloc(SQLITE.length)
    readSync(file, head)
    return head.toString('latin1') === SQLITE
  } finally {
    closeSync(file)
  }
}

function isSameFile(path: string, other: string): boolean {
  const [a, b] = [path, other].map((each) => statSync(each, { throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

/**
 * Whether a path names a device or a file descriptor, such as /dev/stdout. The output is written to
 * these, and does not replace them.
 */
function isInDevices(path: string): boolean {
  return /^\/(dev|proc\/.+)$/.test(realpathSync(dirname(path)))
}

async function appendTo(
  text: AsyncIterable<string>,
  path: string,
  followsLinks: boolean,
): Promise<void> {
  // Never creates or truncates a file: another user may have put one at `path` since the check.
  const { O_WRONLY, O_APPEND, O_NOFOLLOW } = constants
  const file = await open(path, O_WRONLY | O_APPEND | (followsLinks ? 0 : O_NOFOLLOW))
  await pipeline(text, file.createWriteStream())
}

/**
 * Writes a temporary file in the same directory, then renames it. Other users may write there, as
 * in `/tmp`. The temporary name is therefore random and new, and a symbolic link at `path` is not
 * followed.
 */
function replaceFile(io: Io, text: AsyncIterable<string>, path: string): Promise<void> {
  return interruptible(io, `${path} was not written`, async (signal) => {
    const folder = dirname(path)
    const temporary = join(folder, `tillkit-${crypto.randomUUID()}.part`)
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

/**
 * Calls fsync on a directory to make a rename durable. Does nothing if the system cannot fsync
 * directories.
 */
async function syncFolder(folder: string): Promise<void> {
  const directory = await open(folder).catch(() => undefined)
  await directory?.sync().catch(() => {})
  await directory?.close()
}

/**
 * The mode for an output file. Default 0600, because purchases are private. An existing file of
 * this user keeps its mode.
 */
function modeOf(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile()) return 0o600
  const isOwn = stat.uid === (process.getuid?.() ?? stat.uid)
  return isOwn ? stat.mode & 0o777 : 0o600
}
