/**
 * A map that drops its older half when full. Reading an entry moves it to the newer half.
 *
 * A single `Map` that drops its oldest key would be slower: to find that key, V8 walks past all
 * keys that were deleted before.
 */
export class BoundedMap<V> {
  readonly #half: number
  readonly #weigh: (value: V) => number
  #newer = new Map<string, V>()
  #older = new Map<string, V>()
  /** The sum of the weights of the values in the newer half. */
  #weight = 0

  /** `capacity` limits the sum of the weights. Each value weighs 1 by default. */
  constructor(capacity: number, weigh: (value: V) => number = () => 1) {
    this.#half = capacity / 2
    this.#weigh = weigh
  }

  get(key: string): V | undefined {
    const found = this.#newer.get(key)
    if (found !== undefined) return found
    const older = this.#older.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  /** Does not store a value that weighs more than half of the capacity. */
  set(key: string, value: V): void {
    const weight = this.#weigh(value)
    if (weight > this.#half) return
    const replaced = this.#newer.get(key)
    const added = replaced === undefined ? weight : weight - this.#weigh(replaced)
    if (this.#weight + added > this.#half) {
      this.#older = this.#newer
      this.#newer = new Map()
      this.#weight = weight
    } else {
      this.#weight += added
    }
    this.#newer.set(key, value)
  }

  clear(): void {
    if (this.#newer.size + this.#older.size === 0) return
    this.#newer = new Map()
    this.#older = new Map()
    this.#weight = 0
  }
}
