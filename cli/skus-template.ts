import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { formatSkusTemplate } from '../lib/index.ts'
import { UsageError } from './command-errors.ts'
import { describeSystemError } from './system-errors.ts'

const OPTION = '--skus-template'

/** Creates the writer of a SKU map to fill in. Never overwrites a file. */
export function createSkusTemplate(path: string) {
  if (existsSync(path)) throw new UsageError(`${OPTION}: ${path} exists, and is not overwritten`)
  return {
    async write(skus: readonly string[]): Promise<void> {
      try {
        await writeFile(path, formatSkusTemplate(skus), { flag: 'wx', mode: 0o600 })
      } catch (error) {
        throw new UsageError(`${OPTION}: ${describeSystemError(error)}`)
      }
    },
  }
}
