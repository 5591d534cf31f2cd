import { createMemoryStorage } from '../../lib/index.ts'
import { createSignal } from './server.ts'

/** A memory storage that lists items only when the test allows it. */
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
    /** Resolves when the first call waits. */
    entered: entered.given,
    /** The number of calls that have waited. */
    waiting: () => waiting,
    open: opened.give,
  }
}
