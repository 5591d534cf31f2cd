import type { Till } from '../../lib/index.ts'

const INTERVAL_MS = 1_000

/** Logs each account once that uses at least 80 % of a quota, until it uses less again. */
export function watchQuotas({ operator }: Till, log: (message: string) => void): void {
  let logged = new Set<string>()
  const look = () => {
    const near = operator.nearQuotas().map(({ account_id, quota, used, limit }) => {
      const key = `${account_id} ${quota}`
      if (!logged.has(key)) log(`Account ${account_id} has ${used} of at most ${limit} ${quota}`)
      return key
    })
    logged = new Set(near)
  }
  setInterval(look, INTERVAL_MS).unref()
}
