/** What is kept under a name until as many others as there is room for half of came after it. */
export interface Memory<T> {
  get(name: string): T | undefined
  set(name: string, value: T): void
}

/**
 * A memory of at most `size` values. When the newer half is full the older one is dropped whole:
 * to drop the oldest of a single Map takes V8 past all that were dropped before it.
 */
export function createMemory<T>(size: number): Memory<T> {
  let newer = new Map<string, T>()
  let older = new Map<string, T>()
  return {
    get: (name) => newer.get(name) ?? older.get(name),
    set(name, value) {
      if (newer.size >= size / 2) {
        older = newer
        newer = new Map()
      }
      newer.set(name, value)
    },
  }
}
