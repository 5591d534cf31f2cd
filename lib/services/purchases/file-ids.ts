import { randomInt } from 'node:crypto'
import { invalidField } from '../../domain/fields.ts'
import { type NewPurchase, PURCHASE_STATUSES } from '../../domain/purchase.ts'
import type { TillError } from '../../errors.ts'

/** The most ids. They take 52 MiB. */
const MOST_IDS = 2_900_000
const LEAST_SLOTS = 2 ** 12
/** The part of the slots that may be in use. */
const LOAD = 0.7
const LEFT_OUT = 128

/**
 * Creates a set of the transaction ids of a file. It keeps a hash of 53 bits for each id, which takes
 * 26 MiB for a million ids. An id is taken for one of a million others with a probability of 10⁻¹⁰.
 * Each set hashes differently, so nobody can make a file that collides.
 */
export function createFileIds() {
  const seeds = [randomInt(2 ** 32), randomInt(2 ** 32)] as const
  /** 0 is a free slot. */
  let hashes = new Float64Array(LEAST_SLOTS)
  /** For each id, the seconds of its first sale, and a bit for each status of its rows. Another bit
   * tells that a row with this id was left out. */
  let times = new Uint32Array(LEAST_SLOTS)
  let statuses = new Uint8Array(LEAST_SLOTS)
  let size = 0

  /** The slot of a hash, or the free one for it. */
  const slotOf = (hash: number): number => {
    const mask = hashes.length - 1
    let slot = hash % hashes.length
    while (hashes[slot] !== 0 && hashes[slot] !== hash) slot = (slot + 1) & mask
    return slot
  }

  const grow = () => {
    const old = { hashes, times, statuses }
    hashes = new Float64Array(2 * old.hashes.length)
    times = new Uint32Array(hashes.length)
    statuses = new Uint8Array(hashes.length)
    for (let i = 0; i < old.hashes.length; i++) {
      const hash = old.hashes[i] as number
      if (hash === 0) continue
      const slot = slotOf(hash)
      hashes[slot] = hash
      times[slot] = old.times[i] as number
      statuses[slot] = old.statuses[i] as number
    }
  }

  /** Adds an id. Returns its slot. Throws `invalid_request` if there are too many. */
  const add = (id: string): number => {
    if (size >= MOST_IDS) throw tooMany()
    if (size >= LOAD * hashes.length) grow()
    const hash = hashOf(id, seeds)
    const slot = slotOf(hash)
    if (hashes[slot] === 0) size++
    hashes[slot] = hash
    return slot
  }

  /** The bits of an id; undefined for an unknown one. */
  const find = (id: string): number | undefined => {
    const slot = slotOf(hashOf(id, seeds))
    return hashes[slot] === 0 ? undefined : statuses[slot]
  }

  return {
    /**
     * Whether a row has the id. A row that is left out may lack its SKU: its id then is that of an
     * order, and stands for all ids that begin with it and a slash.
     */
    has(id: string): boolean {
      if (find(id) !== undefined) return true
      return [id.indexOf('/'), id.lastIndexOf('/')].some((end) => {
        return end > 0 && ((find(id.slice(0, end)) ?? 0) & LEFT_OUT) !== 0
      })
    },
    /** Adds the id of a row that is left out. */
    addLeftOut(id: string): void {
      if (id === '') return
      const slot = add(id)
      statuses[slot] = (statuses[slot] as number) | LEFT_OUT
    },
    /**
     * Adds the id of a row. Returns `new` for the first row with its id, `later` for another status,
     * `repeated` for the same one, and `other_time` for another sale with the id of an earlier one.
     */
    addRow({ transaction_id, status, purchased_at }: NewPurchase) {
      const slot = add(transaction_id)
      const before = statuses[slot] as number
      const bit = 1 << PURCHASE_STATUSES.indexOf(status)
      const seconds = Math.floor(purchased_at / 1000) >>> 0
      statuses[slot] = before | bit
      if ((before & bit) === 0) {
        if (status === 'purchased') times[slot] = seconds
        return (before & ~LEFT_OUT) === 0 ? 'new' : 'later'
      }
      return status === 'purchased' && times[slot] !== seconds ? 'other_time' : 'repeated'
    },
  }
}

function tooMany(): TillError {
  const most = MOST_IDS.toLocaleString('en-US')
  return invalidField('file', 'too_large', `has more than ${most} ids: compare it in parts`)
}

export type FileIds = ReturnType<typeof createFileIds>

/** Mixes the characters of a text into two numbers of 32 bits. Returns 53 bits of them, never 0. */
function hashOf(text: string, [first, second]: readonly [number, number]): number {
  let a = first | 0
  let b = second | 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0x9e3779b1)
    a ^= a >>> 15
    b = Math.imul(b ^ code, 0x85ebca6b)
    b ^= b >>> 13
  }
  a = Math.imul(a ^ (a >>> 16) ^ b, 0xc2b2ae35)
  b = Math.imul(b ^ (b >>> 15) ^ a, 0x27d4eb2f)
  return (b >>> 11) * 2 ** 32 + (a >>> 0) || 1
}
