import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { NumberedEntry } from '../../../domain/audit.ts'
import { TillError } from '../../../errors.ts'
import { syncFolder } from '../folder.ts'

/**
 * Opens or creates a file of archived audit entries: JSON lines, in ascending order of their sequence
 * numbers. Only its method `keep` reads or changes the file. Call `keep` while you hold a lock that
 * excludes other archive runs.
 */
export function openArchiveFile(path: string) {
  const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
  const fd = explained(path, () => openSync(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600))
  let end: { readonly size: number; readonly seq: number } | undefined

  const keep = (page: readonly NumberedEntry[], count: number) => {
    end ??= begin(fd, path)
    const { size, seq } = end
    if (fstatSync(fd).size !== size) throw refusal(path, 'another process writes it')
    // An interrupted run has written a page and not deleted it from the log. This page begins with
    // the same entry.
    const written = formatLines(page.filter((entry) => entry.seq <= seq))
    if (readEnd(fd, size, Buffer.byteLength(written)).toString() !== written) {
      const found = `it ends with entry ${seq}, but has other entries than the log`
      throw refusal(path, `${found}: archive into another file`)
    }
    const added = page.slice(0, count).filter((entry) => entry.seq > seq)
    const bytes = writeAll(fd, formatLines(added))
    fsyncSync(fd) // also makes the lines that an interrupted run wrote durable
    end = { size: size + bytes, seq: added.at(-1)?.seq ?? seq }
  }

  return {
    /**
     * Appends the first `count` entries of a page that the file does not contain yet, and calls
     * fsync. The page begins with the oldest entry of the log.
     */
    keep: (page: readonly NumberedEntry[], count: number) =>
      explained(path, () => keep(page, count)),
    close: () => closeSync(fd),
  }
}

const CHUNK_BYTES = 64 * 1024

/** Repairs the end of the file. Returns its size and the sequence number of its last entry. */
function begin(fd: number, path: string): { size: number; seq: number } {
  const stat = fstatSync(fd)
  if (!stat.isFile()) throw refusal(path, 'it is not a file')
  // A file of another user is refused: its owner can open it whatever its mode is. A file with a
  // second hard link may be an unrelated file that somebody has linked to this path.
  if (stat.uid !== (process.getuid?.() ?? stat.uid))
    throw refusal(path, 'it belongs to another user')
  if (stat.nlink > 1) throw refusal(path, 'it has more than one link')
  // Reads only the last chunk. It contains the last line, because an entry is much shorter.
  const tail = readEnd(fd, stat.size, CHUNK_BYTES)
  const start = stat.size - tail.length
  const cut = tail.lastIndexOf('\n') + 1
  const rest = tail.toString('utf8', cut)
  const whole = tail.toString('utf8', 0, cut).trimEnd()
  const isBegun = rest.startsWith(BEGINNING.slice(0, rest.length))
  if (whole === '' && (start > 0 || !isBegun)) throw refusal(path, NO_ARCHIVE)
  const last = whole.slice(whole.lastIndexOf('\n') + 1)
  const seq = whole === '' ? 0 : seqOf(last, path)
  fchmodSync(fd, 0o600)
  syncFolder(dirname(path))
  if (rest === '') return { size: stat.size, seq }
  // After a crash or on a full disk, the last line may be incomplete. Completes or deletes it.
  if (isEntry(rest)) {
    return { size: stat.size + writeAll(fd, '\n'), seq: seqOf(rest, path) }
  }
  ftruncateSync(fd, start + cut)
  return { size: start + cut, seq }
}

const BEGINNING = '{"seq":'
const NO_ARCHIVE = 'it is not an archive of an audit log'

function seqOf(line: string, path: string): number {
  if (line.startsWith(BEGINNING) && isEntry(line)) return JSON.parse(line).seq
  throw refusal(path, NO_ARCHIVE)
}

function isEntry(line: string): boolean {
  try {
    return Number.isSafeInteger(JSON.parse(line).seq)
  } catch {
    return false
  }
}

function formatLines(entries: readonly NumberedEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
}

/** Reads the last bytes of a file: `length`, or the whole file if it is shorter. */
function readEnd(fd: number, size: number, length: number): Buffer {
  const bytes = Buffer.alloc(Math.min(size, length))
  readSync(fd, bytes, 0, bytes.length, size - bytes.length)
  return bytes
}

function writeAll(fd: number, text: string): number {
  const bytes = Buffer.from(text)
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
  return bytes.length
}

function explained<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof TillError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw refusal(path, code === 'ELOOP' ? 'it is a symbolic link' : message)
  }
}

function refusal(path: string, reason: string): TillError {
  return new TillError('invalid_request', `Cannot archive into ${path}: ${reason}`)
}
