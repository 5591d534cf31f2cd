import type { Till } from '../../lib/index.ts'

const INTERVAL_MS = 5_000
const OLD_SECONDS = 60

/**
 * Logs once that a transaction of the database has been open for 60 s, and when it has ended.
 * Webhooks wait for it.
 */
export function watchTransactions(
  { operator }: Till,
  log: (level: 'info' | 'warn', message: string) => void,
): void {
  let logged: string | undefined
  const look = async () => {
    const { holder, seconds } = (await operator.openTransaction()) ?? { holder: '', seconds: 0 }
    if (logged !== undefined && holder !== logged) {
      log('info', `The transaction of ${logged} has ended`)
      logged = undefined
    }
    if (seconds < OLD_SECONDS || holder === logged) return
    logged = holder
    const age = `${Math.round(seconds)} s`
    log('warn', `The transaction of ${holder} has been open for ${age}: webhooks wait for it`)
  }
  // Ignores failures: requests report a lost database.
  setInterval(() => void look().catch(() => {}), INTERVAL_MS).unref()
}
