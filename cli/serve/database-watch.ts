import { setTimeout } from 'node:timers/promises'
import type { Till } from '../../lib/index.ts'
import { describeSystemError } from '../system-errors.ts'

const INTERVAL_MS = 1_000

/**
 * Logs when the database is lost, and when it is back. Returns a function to call when a request
 * failed because of the database: nothing is checked before.
 */
export function watchDatabase(
  { operator }: Till,
  log: (level: 'info' | 'error', message: string) => void,
): () => void {
  let isWatching = false
  const findFailure = () => operator.ready().then(() => undefined, describeCause)
  const watch = async () => {
    const started = performance.now()
    const failure = await findFailure()
    if (failure === undefined) return // only this request failed, such as an import on a full disk
    log('error', `The database is lost: ${failure}`)
    do await setTimeout(INTERVAL_MS, undefined, { ref: false })
    while ((await findFailure()) !== undefined)
    const seconds = Math.round((performance.now() - started) / 1000)
    log('info', `The database is back after ${seconds} s`)
  }
  return () => {
    if (isWatching) return
    isWatching = true
    void watch().finally(() => {
      isWatching = false
    })
  }
}

/** The message of the innermost cause. */
function describeCause(error: unknown): string {
  const { cause } = error as Error
  return cause === undefined ? describeSystemError(error) : describeCause(cause)
}
