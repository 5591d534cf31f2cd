import { basename, relative } from 'node:path'
import { isFile } from './database-url.ts'
import { quote } from './text.ts'

/**
 * The words that run this program in the current directory. Usage lines, examples and hints begin with
 * them, so they also work in a clone, or in a project that has tillkit as a dependency.
 */
export const PROGRAM = programOf(process.argv[1] ?? '')

function programOf(path: string): string {
  if (/[\\/]node_modules[\\/]/.test(path)) return 'npx tillkit'
  if (!/^main\.[jt]s$/.test(basename(path))) return 'tillkit'
  return `node ${wordOf(relative('', path))}`
}

/** A command to paste, on the database `db` of the command that prints it. */
export function hint(words: string, db = DEFAULT_DB): string {
  // Prints no URL of a database server: it may have a password.
  const option = db === DEFAULT_DB || !isFile(db) ? '' : ` --db ${wordOf(db)}`
  return `${PROGRAM} ${words}${option}`
}

export const DEFAULT_DB = 'tillkit.db'

/** A text as one word of a shell command, in quotation marks only if it needs them. */
export function wordOf(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : quote(text)
}
