import { constants } from 'node:os'
import { Interrupted } from './command-errors.ts'
import type { Io, StopSignal } from './io.ts'

/**
 * Runs work that Ctrl-C can abort. Throws an Interrupted with the message `outcome` if the work was
 * aborted. Work that can no longer be aborted ends normally. A second Ctrl-C ends the process.
 */
export async function interruptible<T>(
  io: Io,
  outcome: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const abort = () => controller.abort()
  io.once('SIGINT', abort)
  try {
    return await work(controller.signal)
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw new Interrupted(outcome)
    throw error
  } finally {
    io.off('SIGINT', abort)
  }
}

/**
 * Resolves at the first SIGTERM or SIGINT. A second signal ends the process at once. A worker
 * ignores a second signal, because the operating system and the parent may each send one.
 */
export function stopSignal(io: Io, isWorker: boolean): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    const stop = (signal: StopSignal) => {
      if (isStopping && !isWorker) endBy(signal)
      isStopping = true
      resolve()
    }
    io.on('SIGTERM', stop)
    io.on('SIGINT', stop)
  })
}

/**
 * Ends the process by the signal. As PID 1 of a container, the process ignores its own signals, so
 * `exit` ends it.
 */
function endBy(signal: StopSignal): never {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  process.exit(128 + constants.signals[signal])
}
