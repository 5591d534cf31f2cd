import { createMemoryStorage } from '../../lib/index.ts'
import { createSignal } from './server.ts'

/** A storage in memory that lists items only when the test lets it. */
export function createGatedStorage() {
  const storage = createMemoryStorage()
  const { listItems } = storage
  const entered = createSignal()
  const opened = createSignal()
  let waiting = 0
  storage.listItems = async (store, page) => {
    waiting++
    entered.give()
    await opened.given
    return listItems(store, page)
  }
  return {
    storage,
    /** Resolves when the first one waits. */
    entered: entered.given,
    /** How many have come to wait. */
    waiting: () => waiting,
    open: opened.give,
  }
}
