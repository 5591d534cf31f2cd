import { setTimeout } from 'node:timers/promises'

const ATTEMPTS = 600

/** Repeats a check every 50 ms until it passes. Throws the last error after 30 s. */
export async function eventuallyHolds(check: () => unknown): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await check()
      return
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
      await setTimeout(50)
    }
  }
}
