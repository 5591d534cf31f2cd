import type { NumberedEntry } from '../../domain/audit.ts'
import type { WebhookBody } from '../../domain/webhook.ts'
import type { Context } from '../context.ts'
import { bodyOf, readMessages } from './events.ts'

/** An event of a committed change. */
export interface ChangeEvent extends WebhookBody {
  readonly account_id: string
  readonly project_id: string
  /** The store of the change; '' for a change without a store. */
  readonly store_id: string
}

export type ChangeListener = (event: ChangeEvent) => unknown

/**
 * Milliseconds between two reads of the audit log. These reads find changes of other processes, and
 * changes of this process that were not visible at once.
 */
const POLL_MS = 1_000
const PAGE = 100
/** The maximum number of refund messages of an import to create at once. */
const PARTS = 10

/** Reads the audit log for listeners. Writes never wait for it. */
export function createChanges({ storage }: Context) {
  const listeners = new Set<ChangeListener>()
  let position: string | undefined
  let reading: Promise<void> | undefined
  let isCalledAgain = false
  let stop: (() => void) | undefined

  const emit = (event: ChangeEvent) => {
    for (const listener of listeners) {
      // Ignores the errors of a listener, which must report them itself.
      Promise.resolve(event)
        .then(listener)
        .catch(() => {})
    }
  }

  const emitEntry = async (entry: NumberedEntry) => {
    const { account_id, project_id, store_id } = entry
    let rest = ''
    do {
      const limits = { rest, messages: PARTS, pages: PARTS }
      const reading = await readMessages(storage, project_id, entry, limits)
      for (const message of reading.messages) {
        const body = await bodyOf(storage, entry, message)
        if (body) emit({ ...JSON.parse(body), account_id, project_id, store_id })
      }
      rest = reading.rest
    } while (rest !== '' && listeners.size > 0)
  }

  const readAll = async () => {
    position ??= (await storage.listSettled({ limit: 0 })).position
    for (let isMore = true; isMore && listeners.size > 0; ) {
      const page = await storage.listSettled({ limit: PAGE, after: position })
      for (const entry of page.entries) await emitEntry(entry)
      position = page.position
      isMore = page.entries.length === PAGE || isCalledAgain
      isCalledAgain = false
    }
  }

  const read = () => {
    if (reading) isCalledAgain = true
    // Ignores a failure, because the next poll reads again.
    reading ??= readAll()
      .catch(() => {})
      .finally(() => {
        reading = undefined
      })
  }

  const start = () => {
    const poll = setInterval(read, POLL_MS).unref()
    const end = storage.onWrite(read)
    return () => {
      clearInterval(poll)
      end()
      position = undefined
    }
  }

  return {
    on(name: 'change', listener: ChangeListener): () => void {
      if (name !== 'change') throw new TypeError(`there is no event ${name}, only change`)
      listeners.add(listener)
      if (!stop) {
        stop = start()
        read()
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        stop?.()
        stop = undefined
      }
    },
    close(): void {
      listeners.clear()
      stop?.()
      stop = undefined
    },
  }
}
