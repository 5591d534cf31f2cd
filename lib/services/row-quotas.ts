import { TillError } from '../errors.ts'
import type { Quotas } from './quotas.ts'

/** An account that uses at least 80 % of a quota. */
export interface NearQuota {
  readonly account_id: string
  readonly quota: 'items' | 'purchases'
  readonly used: number
  readonly limit: number
}

/** Counts the rows of an account in the storage, up to `most` of them. */
type CountRows = (account_id: string, most: number) => Promise<number>

/** Creates the quotas of items and of purchases. Each process counts its own rows. */
export function createRowQuotas(
  { items, purchases }: Quotas,
  storage: { readonly countItems: CountRows; readonly countPurchases: CountRows },
) {
  const ofItems = createRowQuota('items', items, storage.countItems)
  const ofPurchases = createRowQuota('purchases', purchases, storage.countPurchases)
  return {
    items: ofItems,
    purchases: ofPurchases,
    /** The accounts near a quota, of those that added rows through this process. */
    near: () => [...ofItems.near(), ...ofPurchases.near()],
  }
}

interface Usage {
  used: number
  /** How many rows may be added until the storage counts again. */
  unchecked: number
  /** When the storage has counted, in milliseconds. */
  readonly at: number
}

/**
 * The storage counts again after a process has added a sixteenth of the remaining rows. Millions of
 * rows are therefore counted some hundred times until a quota is used up, and each of the last
 * sixteen rows is checked exactly. Another process may use up the quota in between: this process
 * then exceeds it by less than a sixteenth.
 */
const CHECKED_PART = 16

/** How long an account at its quota is refused without counting again. */
const FULL_MS = 5_000

/** Creates a limit of the rows of one kind that an account may have. */
function createRowQuota(name: NearQuota['quota'], limit: number, count: CountRows) {
  const usages = new Map<string, Usage>()
  const counts = new Map<string, Promise<Usage>>()

  const countNow = async (account_id: string): Promise<Usage> => {
    try {
      const used = await count(account_id, limit + 1)
      const unchecked = Math.floor((limit - used) / CHECKED_PART)
      const usage = { used, unchecked, at: performance.now() }
      usages.set(account_id, usage)
      return usage
    } finally {
      counts.delete(account_id)
    }
  }

  const usageFor = async (account_id: string, rows: number): Promise<Usage> => {
    const usage = usages.get(account_id)
    if (usage && rows <= usage.unchecked) return usage
    if (usage && usage.used >= limit && performance.now() < usage.at + FULL_MS) return usage
    const running = counts.get(account_id) ?? countNow(account_id)
    counts.set(account_id, running)
    return running
  }

  return {
    /**
     * Resolves to the number of rows that the account may still add. Exact when that is less than
     * `rows`.
     */
    async room(account_id: string, rows = 1) {
      if (limit === Number.POSITIVE_INFINITY) return limit
      return limit - (await usageFor(account_id, rows)).used
    },
    /** The error for an account without room. */
    refusal() {
      const most = limit.toLocaleString('en-US')
      return new TillError('quota_exceeded', `An account may have at most ${most} ${name}`)
    },
    /** Counts rows that were added. */
    add(account_id: string, rows: number) {
      const usage = usages.get(account_id)
      if (!usage) return
      usage.used += rows
      usage.unchecked -= rows
    },
    /** Counts the rows of an account in the storage next time, because some were deleted. */
    forget: (account_id: string) => void usages.delete(account_id),
    near: (): NearQuota[] =>
      [...usages]
        .filter(([, { used }]) => used >= limit * 0.8)
        .map(([account_id, { used }]) => ({ account_id, quota: name, used, limit })),
  }
}
