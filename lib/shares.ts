/**
 * How much of a limit each owner uses. An owner may use more while it uses less than all owners
 * leave free: one alone can use half of the limit, and each of two a third. A part is always left
 * for another owner.
 */
export class Shares {
  readonly #limit: number
  readonly #used = new Map<string, number>()
  #total = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Counts an amount. A negative one is released. */
  add(owner: string, amount: number): void {
    const used = (this.#used.get(owner) ?? 0) + amount
    this.#total += amount
    if (used > 0) this.#used.set(owner, used)
    else this.#used.delete(owner)
  }

  /** How much less an owner uses than all owners leave free. Without any, it may not use more. */
  left(owner: string): number {
    return this.#limit - this.#total - (this.#used.get(owner) ?? 0)
  }

  /**
   * The owners that have used up their shares, until a quarter of what they use is left. They
   * therefore do not continue with small amounts.
   */
  full(): string[] {
    const owners = [...this.#used]
    return owners.flatMap(([owner, used]) => (this.left(owner) < used / 4 ? owner : []))
  }
}
