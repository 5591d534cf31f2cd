import { Worker } from 'node:worker_threads'

/**
 * Starts a module of this directory, or its compiled file, in a thread. Undefined where threads are
 * not permitted.
 */
export function startThread(
  module: string,
  workerData: object,
  maxYoungGenerationSizeMb: number,
): Worker | undefined {
  const extension = import.meta.url.slice(-3)
  try {
    return new Worker(new URL(`./${module}${extension}`, import.meta.url), {
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb },
    })
  } catch {
    return undefined
  }
}
