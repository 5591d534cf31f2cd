import { existsSync } from 'node:fs'
import type { Invocation } from './command.ts'
import { UsageError } from './command-errors.ts'
import { createOutputFile } from './output-file.ts'

const OPTION = '--skus-template'

/** Creates the writer of a SKU map to fill in. Never overwrites a file. */
export function createSkusTemplate(writing: Pick<Invocation, 'io' | 'inputs'>, path: string) {
  if (existsSync(path)) throw new UsageError(`${OPTION}: ${path} exists, and is not overwritten`)
  const file = createOutputFile(writing, OPTION, path)
  return {
    write: (skus: readonly string[]) => file.write(formatted(skus)),
  }
}

async function* formatted(skus: readonly string[]): AsyncGenerator<string> {
  const { formatSkusTemplate } = await import('./file-formats.ts')
  yield formatSkusTemplate(skus)
}
