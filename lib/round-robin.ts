/** A queue whose owners take turns. The values of one owner keep their order. */
export class RoundRobin<T> {
  /** The number of values. */
  size = 0
  /** The values by owner. The owner with the next turn comes first. */
  readonly #values = new Map<string, Set<T>>()

  add(owner: string, value: T): void {
    const values = this.#values.get(owner) ?? new Set()
    this.#values.set(owner, values.add(value))
    this.size++
  }

  delete(owner: string, value: T): void {
    const values = this.#values.get(owner)
    if (!values?.delete(value)) return
    if (values.size === 0) this.#values.delete(owner)
    this.size--
  }

  /** Removes the next value of an owner that may have a turn. The owner then goes to the end. */
  take(
    may: (owner: string) => boolean = () => true,
  ): { readonly owner: string; readonly value: T } | undefined {
    for (const [owner, values] of this.#values) {
      if (!may(owner)) continue
      const value = values.values().next().value as T
      this.delete(owner, value)
      if (this.#values.delete(owner)) this.#values.set(owner, values)
      return { owner, value }
    }
    return undefined
  }
}
