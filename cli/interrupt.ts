import { Interrupted } from './command.ts'

/**
 * Does work that Ctrl-C aborts; when it has, throws an Interrupted that says so. What could no
 * longer be aborted ends as usual; a second Ctrl-C ends the process at once.
 */
export async function interruptible<T>(
  outcome: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const abort = () => controller.abort()
  process.once('SIGINT', abort)
  try {
    return await work(controller.signal)
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw new Interrupted(outcome)
    throw error
  } finally {
    process.off('SIGINT', abort)
  }
}
