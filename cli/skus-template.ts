import { statSync } from 'node:fs'
import { formatSkusTemplate } from '../lib/index.ts'
import { UsageError } from './command-errors.ts'
import type { Io } from './io.ts'
import { createOutputFile, databaseFiles } from './output-file.ts'

const OPTION = '--skus-template'

/** Creates the writer of a SKU map to fill in. Never overwrites a file. */
export function createSkusTemplate(io: Io, file: string, path: string, db: string) {
  if (file === '-') throw new UsageError(`${OPTION} needs a file: standard input is read only once`)
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) {
    throw new UsageError(`${OPTION}: ${path} exists, and is not overwritten`)
  }
  const output = createOutputFile(io, OPTION, path, [file, ...databaseFiles(db)])
  return {
    async write(skus: readonly string[]): Promise<void> {
      async function* text() {
        yield formatSkusTemplate(skus)
      }
      await output.write(text())
    },
  }
}
