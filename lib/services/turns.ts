import { setImmediate } from 'node:timers/promises'
import type { ReadyAccount, ReadyRequest, Storage } from '../storage/port.ts'

type TurnRequest = Omit<ReadyRequest, 'after' | 'examined'> & {
  /** The maximum number of endpoints to choose. */
  readonly limit: number
}

interface Chosen {
  /** The endpoints to serve next: first one of each account, then another of each, and so on. */
  readonly endpoint_ids: readonly string[]
  /** Whether further endpoints may have messages to send. */
  readonly isMore: boolean
}

/** One call examines at most this many groups of 100 accounts. */
const GROUPS = 10

/**
 * Chooses the endpoints that are served next. Accounts take turns, and so do the endpoints of each
 * account. Therefore an account with thousands of endpoints delays the others as little as an
 * account with one endpoint.
 */
export function createTurns(storage: Storage) {
  /** The account that was served last. */
  let last = ''
  /**
   * For each account, the endpoint after which its next turn starts. An account that is missing
   * here starts at its first endpoint.
   */
  const examined = new Map<string, string>()

  const findAll = async ({ limit, ...request }: TurnRequest) => {
    const accounts: ReadyAccount[] = []
    const start = last
    let after = start
    let isAround = false
    for (let group = 0; group < GROUPS; group++) {
      const page = await storage.findReady({ ...request, after, examined })
      const isNew = ({ account_id }: ReadyAccount) => !isAround || account_id <= start
      accounts.push(...page.accounts.filter(isNew))
      const ready = accounts.filter(({ endpoint_ids }) => endpoint_ids.length > 0)
      if (ready.length >= limit) return { accounts, isMore: true }
      if (page.next !== undefined) after = page.next
      else if (isAround || start === '') return { accounts, isMore: false }
      else {
        isAround = true
        after = ''
      }
      if (isAround && after >= start) return { accounts, isMore: false }
      await setImmediate() // yields to the event loop, because the storage may answer without I/O
    }
    return { accounts, isMore: true }
  }

  /**
   * Stores where the next turn of an account starts. Returns whether further endpoints of the
   * account may have messages to send.
   */
  const advance = ({ account_id, ...account }: ReadyAccount, served: number): boolean => {
    const { endpoint_ids } = account
    const isServed = served === endpoint_ids.length
    const end = isServed ? account.examined : endpoint_ids[served - 1]
    if (end !== undefined) examined.set(account_id, end)
    else if (isServed) examined.delete(account_id)
    return !isServed || account.examined !== undefined
  }

  return {
    async choose(request: TurnRequest): Promise<Chosen> {
      const { accounts, isMore } = await findAll(request)
      const chosen: string[] = []
      const served = new Map<ReadyAccount, number>()
      let isProgress = true
      for (let round = 0; isProgress && chosen.length < request.limit; round++) {
        isProgress = false
        for (const account of accounts) {
          const id = account.endpoint_ids[round]
          if (id === undefined || chosen.length === request.limit) continue
          chosen.push(id)
          served.set(account, round + 1)
          last = account.account_id
          isProgress = true
        }
      }
      if (chosen.length < request.limit) last = accounts.at(-1)?.account_id ?? ''
      const left = accounts.filter((each) => advance(each, served.get(each) ?? 0))
      return { endpoint_ids: chosen, isMore: isMore || left.length > 0 }
    },
  }
}
