/** Limits what all owners use together, and what each of them uses: calls, requests or bytes. */
export class SharedLimit {
  /** The sum of what all owners use. */
  taken = 0
  readonly size: number
  readonly #share: number
  readonly #used = new Map<string, number>()

  /** `share` is the most of one owner. */
  constructor(size: number, share = size) {
    this.size = size
    this.#share = share
  }

  hasRoom(owner: string, amount = 1): boolean {
    if (this.taken + amount > this.size) return false
    return (this.#used.get(owner) ?? 0) + amount <= this.#share
  }

  /** Counts an amount, also without room for it. A negative one is released. */
  add(owner: string, amount: number): void {
    const used = (this.#used.get(owner) ?? 0) + amount
    this.taken += amount
    if (used > 0) this.#used.set(owner, used)
    else this.#used.delete(owner)
  }

  /**
   * How much less an owner uses than all owners leave free. If an owner stops at 0, one alone uses
   * half of the limit, and each of two a third. A part is always left for another owner.
   */
  left(owner: string): number {
    return this.size - this.taken - (this.#used.get(owner) ?? 0)
  }

  /**
   * The owners for which nothing is left, until a quarter of what they use is. They therefore do not
   * continue with small amounts.
   */
  full(): string[] {
    const owners = [...this.#used]
    return owners.flatMap(([owner, used]) => (this.left(owner) < used / 4 ? owner : []))
  }
}
