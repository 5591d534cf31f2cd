import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/**
 * Starts a module of `lib` in a worker thread. `module` is its path without extension, like
 * `storage/sqlite/reader`. Returns undefined if threads are not permitted, or if the file does not
 * exist, as in a bundle.
 */
export function startThread(
  module: string,
  workerData: object,
  maxYoungGenerationSizeMb: number,
): Worker | undefined {
  try {
    const { url } = import.meta // undefined in a CommonJS bundle
    const file = new URL(`./${module}${url.slice(-3)}`, url)
    if (!existsSync(file)) return undefined
    return new Worker(file, {
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb },
    })
  } catch {
    return undefined
  }
}
