import { existsSync } from 'node:fs'
import { UsageError } from './command-errors.ts'
import type { Io } from './io.ts'
import { createOutputFile } from './output-file.ts'

const OPTION = '--skus-template'

/** Creates the writer of a SKU map to fill in. Never overwrites a file. */
export function createSkusTemplate(io: Io, path: string) {
  if (existsSync(path)) throw new UsageError(`${OPTION}: ${path} exists, and is not overwritten`)
  const file = createOutputFile(io, OPTION, path, [])
  return {
    write: (skus: readonly string[]) => file.write(formatted(skus)),
  }
}

async function* formatted(skus: readonly string[]): AsyncGenerator<string> {
  const { formatSkusTemplate } = await import('./file-formats.ts')
  yield formatSkusTemplate(skus)
}
