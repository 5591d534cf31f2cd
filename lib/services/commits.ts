import type { Storage } from '../storage/port.ts'

/** Tells listeners that this process has committed a change with an audit entry. */
export interface Commits {
  on(listener: () => void): () => void
}

/** The methods whose audit entries become events. */
const WRITES = [
  'updateProject',
  'insertStore',
  'updateStore',
  'insertItem',
  'updateItem',
  'applyCatalog',
  'recordPurchase',
  'undoImport',
  'pseudonymizeWatermark',
  'insertAudit',
  'updateEndpoint',
] as const satisfies readonly (keyof Storage)[]

type Method = (...args: readonly unknown[]) => Promise<unknown>

/**
 * Wraps a storage. Calls the listeners after each commit of an import, and after each call of the
 * methods in `WRITES`.
 */
export function observeCommits(storage: Storage): { storage: Storage; commits: Commits } {
  const listeners = new Set<() => void>()
  let isScheduled = false

  const notify = () => {
    if (isScheduled || listeners.size === 0) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      for (const listener of listeners) listener()
    })
  }
  const observed = (name: (typeof WRITES)[number]): [string, Method] => [
    name,
    async (...args) => {
      const result = await (storage[name] as Method)(...args)
      notify()
      return result
    },
  ]
  const openImport: Storage['openImport'] = async (...args) => {
    const opened = await storage.openImport(...args)
    if (!opened) return undefined
    const commit: typeof opened.commit = async (...details) => {
      await opened.commit(...details)
      notify()
    }
    return { ...opened, commit }
  }
  const methods = { ...Object.fromEntries(WRITES.map(observed)), openImport }
  return {
    // Inherits all other methods from `storage`.
    storage: Object.assign(Object.create(storage) as Storage, methods),
    commits: {
      on(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    },
  }
}
