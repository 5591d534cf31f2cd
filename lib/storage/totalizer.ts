import { setTimeout } from 'node:timers/promises'

/** Adds the purchases of stores to the totals in the background. */
export interface Totalizer {
  /** Starts to add the purchases of a store, unless that is under way. */
  wake(store: number): void
  /** Adds the purchases of a store to the totals. Resolves when all are added. */
  run(store: number): Promise<void>
  stop(): Promise<void>
}

/** Adds purchases to the totals in short transactions. */
export interface TotalsWriter {
  /** Adds the next purchases of a store. Resolves to whether more may be left. */
  add(store: number): Promise<boolean>
  end(): Promise<void>
}

/** The pause between two slices, in which waiting writes get the lock. */
const PAUSE_MS = 10

export function createTotalizer(open: () => Promise<TotalsWriter>): Totalizer {
  const waiting = new Set<number>()
  let running: Promise<void> | undefined
  let isStopped = false

  const work = async () => {
    const writer = await open()
    try {
      // Adds one slice of each store in turn, so that a small store does not wait for a large one.
      while (waiting.size > 0) {
        for (const store of waiting) {
          if (isStopped) return
          if (!(await writer.add(store))) waiting.delete(store)
          await setTimeout(PAUSE_MS)
        }
      }
    } finally {
      await writer.end()
    }
  }

  const wake = (store: number) => {
    if (isStopped) return
    waiting.add(store)
    // Ignores errors: the next overview tries again.
    running ??= work()
      .catch(() => waiting.clear())
      .finally(() => {
        running = undefined
      })
  }

  return {
    wake,
    async run(store) {
      wake(store)
      await running
    },
    async stop() {
      isStopped = true
      await running
    },
  }
}
