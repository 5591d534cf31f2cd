import { fc } from '../seeds.ts'

/** The values of a row that may be missing. */
export interface Values {
  readonly user_id?: string
  readonly price?: number
  readonly currency?: string
  readonly expires_at?: string
}

type Status = 'purchased' | 'pending' | 'refunded'

export interface Row extends Values {
  readonly id: string
  readonly status: Status
}

/** A step of a life of purchases. `back` names an import or recording, counted from the latest. */
export type Step =
  | { readonly do: 'import'; readonly rows: readonly Row[]; readonly by: 'account' | 'client' }
  | { readonly do: 'record'; readonly row: Row }
  | { readonly do: 'undo'; readonly back: number; readonly force: boolean }
  | { readonly do: 'erase'; readonly user_id: string; readonly deletes: boolean }
  | { readonly do: 'refund' | 'deliver'; readonly id: string }

const END = '2030-01-01T00:00:00.000Z'
const OTHER_END = '2031-01-01T00:00:00.000Z'
const amount = { price: 499, currency: 'USD' }

const row: fc.Arbitrary<Row> = fc
  .record({
    id: fc.constantFrom('a', 'a', 'a', 'b'),
    status: fc.constantFrom<Status>('purchased', 'purchased', 'pending', 'pending', 'refunded'),
    user: fc.constantFrom({}, {}, {}, { user_id: 'ann' }, { user_id: 'ann' }, { user_id: 'bob' }),
    amount: fc.constantFrom({}, amount, amount, { currency: 'USD' }),
    end: fc.constantFrom({}, {}, { expires_at: END }, { expires_at: OTHER_END }),
  })
  .map(({ id, status, user, amount, end }) => ({ id, status, ...user, ...amount, ...end }))

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('import' as const),
      rows: fc.array(row, { minLength: 1, maxLength: 3 }),
      by: fc.constantFrom<'account' | 'client'>('account', 'account', 'account', 'client'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('record' as const), row }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('undo' as const),
      back: fc.nat({ max: 3 }),
      force: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('erase' as const),
      user_id: fc.constantFrom('ann', 'bob'),
      deletes: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom<'refund' | 'deliver'>('refund', 'deliver'),
      id: fc.constantFrom('a', 'b'),
    }),
  },
)

export const steps = fc.array(step, { minLength: 3, maxLength: 20, size: 'max' })

const RANK = { pending: 0, purchased: 1, refunded: 2 }
const FIELDS = ['user_id', 'price', 'currency', 'expires_at'] as const

/** What an import or a recording did to a purchase that was stored before. */
interface Change {
  readonly id: string
  readonly before: Status
  readonly after: Status
  readonly filled: readonly (typeof FIELDS)[number][]
}

interface Batch {
  readonly isListed: boolean
  readonly added: Set<string>
  changes: Change[]
  /** The purchases that its rows repeat, or only fill, with the batches that have added these. */
  readonly repeated: Set<string>
  readonly overlaps: Set<number>
  /** Whether a recording has repeated a purchase that the batch has added or changed. */
  isRepeated: boolean
  isUndone: boolean
}

interface Stored extends Row {
  readonly batch: number
}

export interface Counts {
  added: number
  skipped: number
  updated: number
  repeated: number
  unequal: number
  /** The sorted totals by status and currency, as texts: `purchased USD 2 998`. */
  totals: readonly string[]
}

/** The purchases of a store as plain objects, written from the documentation. */
export function createOracle() {
  let purchases = new Map<string, Stored>()
  const batches: Batch[] = []
  const erased = new Set<string>()
  const deleted = new Set<string>()
  /** Whether the purchase with an id is delivered. Has no entry for imported history. */
  const deliveries = new Map<string, boolean>()

  const newBatch = (isListed: boolean): Batch => ({
    isListed,
    added: new Set(),
    changes: [],
    repeated: new Set(),
    overlaps: new Set(),
    isRepeated: false,
    isUndone: false,
  })

  const conflicts = (stored: Row, sent: Row) =>
    FIELDS.some((field) => {
      if (field === 'expires_at' || (field === 'user_id' && erased.has(stored.id))) return false
      const [mine, other] = [stored[field], sent[field]]
      return mine !== undefined && other !== undefined && mine !== other
    })

  const fillsOf = (stored: Row, sent: Row): Values => {
    const takes = (field: (typeof FIELDS)[number]) =>
      stored[field] === undefined &&
      sent[field] !== undefined &&
      !(field === 'user_id' && erased.has(stored.id)) &&
      !(field === 'currency' && sent.price === undefined)
    const fields = FIELDS.filter(takes)
    return Object.fromEntries(fields.map((field) => [field, sent[field]]))
  }

  /** Returns the store after the rows, or undefined if one of them is a conflict. */
  const apply = (rows: readonly Row[], mayFill: boolean, isListed: boolean) => {
    const number = batches.length
    const batch = newBatch(isListed)
    const after = new Map(purchases)
    const seen = new Set<string>()
    const counts: Counts = { added: 0, skipped: 0, updated: 0, repeated: 0, unequal: 0, totals: [] }
    const counted: Row[] = []
    const firsts = new Map<string, Stored>()
    const outcomes = new Map<string, 'skipped' | 'updated'>()
    for (const sent of rows) {
      const key = `${sent.id} ${sent.status}`
      const stored = after.get(sent.id)
      if (deleted.has(sent.id)) {
        counted.push(sent)
        counts.skipped++
        continue
      }
      const isSeen = seen.has(key)
      seen.add(key)
      if (!stored) {
        after.set(sent.id, { ...sent, batch: number })
        batch.added.add(sent.id)
        counted.push(sent)
        counts.added++
        continue
      }
      if (conflicts(stored, sent)) return undefined
      const fills = mayFill ? fillsOf(stored, sent) : {}
      const isLater = RANK[sent.status] > RANK[stored.status]
      const isFill = Object.keys(fills).length > 0
      const { expires_at: end } = sent
      if (end !== undefined && stored.expires_at !== undefined && stored.expires_at !== end) {
        counts.unequal++
      }
      const isOwn = stored.batch === number
      const outcome = isLater || isFill ? 'updated' : 'skipped'
      if (isSeen && !isLater) {
        counts.repeated++
        if (isFill && !isOwn && outcomes.get(sent.id) !== 'updated') {
          counts.skipped--
          counts.updated++
        }
      } else {
        counted.push(sent)
        counts[outcome]++
        if (!isLater && !isOwn) {
          batch.repeated.add(sent.id)
          batch.overlaps.add(stored.batch)
        }
      }
      if (outcome === 'skipped') continue
      outcomes.set(sent.id, 'updated')
      if (!isOwn && !firsts.has(sent.id)) firsts.set(sent.id, stored)
      after.set(sent.id, { ...stored, ...fills, status: isLater ? sent.status : stored.status })
    }
    for (const [id, before] of firsts) {
      const now = after.get(id) as Stored
      const filled = FIELDS.filter((field) => before[field] !== now[field])
      batch.changes.push({ id, before: before.status, after: now.status, filled })
    }
    counts.totals = totalsOf(counted, after)
    return { after, batch, counts }
  }

  const live = () => batches.filter(({ isUndone }) => !isUndone)

  const oracle = {
    batches,
    import(rows: readonly Row[], mayFill: boolean): Counts | 'conflict' {
      const result = apply(rows, mayFill, true)
      if (!result) return 'conflict'
      purchases = result.after
      batches.push(result.batch)
      return result.counts
    },
    record(row: Row): 'added' | 'updated' | 'skipped' | 'conflict' {
      const stored = purchases.get(row.id)
      const result = apply([row], true, false)
      if (!result) return 'conflict'
      const { after, batch, counts } = result
      if (counts.skipped > 0) {
        if (!stored) return 'skipped' // deleted with its user
        for (const [number, each] of batches.entries()) {
          if (!each.isListed) continue
          const isOf = number === stored.batch || each.changes.some(({ id }) => id === row.id)
          if (isOf) each.isRepeated = true
        }
        return 'skipped'
      }
      purchases = after
      batches.push(batch)
      const { status } = after.get(row.id) as Stored
      if (counts.added > 0) {
        if (status !== 'refunded' && !deliveries.get(row.id)) deliveries.set(row.id, false)
        return 'added'
      }
      const isDue = stored?.status !== status || batch.changes[0]?.filled.includes('user_id')
      if (isDue && status !== 'refunded' && !deliveries.has(row.id)) deliveries.set(row.id, false)
      return 'updated'
    },
    /**
     * Whether an undo is refused: `changed` always, `force` if it must be without force, and `may`
     * if it may be: the storage remembers the repeats of an import, not of each purchase.
     */
    refusal(number: number): 'changed' | 'force' | 'may' | undefined {
      const batch = batches[number] as Batch
      const others = live().filter((each) => each !== batch)
      const isChanged = (id: string) => purchases.get(id) !== undefined
      const own = [...batch.added].filter(isChanged)
      const isMoved = ({ before, after }: Change) => before !== after
      for (const { changes } of others) {
        for (const change of changes.filter(isMoved)) {
          if (own.includes(change.id)) return 'changed'
          const mine = batch.changes.find(({ id }) => id === change.id)
          if (mine && isMoved(mine) && change.before === mine.after) return 'changed'
        }
      }
      const changed = batch.changes.map(({ id }) => purchases.get(id)).filter((each) => each)
      for (const other of others) {
        if (own.some((id) => other.repeated.has(id))) return 'force'
        const isLater = batches.indexOf(other) > number
        if (isLater && changed.some((each) => other.repeated.has((each as Stored).id)))
          return 'force'
      }
      if (batch.isRepeated) return 'force'
      const isNear = (other: Batch) =>
        other.overlaps.has(number) || changed.some((each) => other.overlaps.has(each?.batch ?? -1))
      return others.some(isNear) ? 'may' : undefined
    },
    undo(number: number): void {
      const batch = batches[number] as Batch
      for (const id of batch.added) {
        if (purchases.get(id)?.batch !== number) continue
        purchases.delete(id)
        if (erased.has(id)) deleted.add(id)
        if (deliveries.get(id) === false) deliveries.delete(id)
        // What a later import did to this purchase is no part of another one with the same id.
        for (const other of batches) {
          other.changes = other.changes.filter((each) => each.id !== id)
          other.repeated.delete(id)
        }
      }
      for (const { id, before, after, filled } of batch.changes) {
        const stored = purchases.get(id)
        if (!stored) continue
        const empty = Object.fromEntries(filled.map((field) => [field, undefined]))
        purchases.set(id, {
          ...stored,
          ...empty,
          status: before === after ? stored.status : before,
        })
      }
      batch.changes = []
      batch.isUndone = true
    },
    erase(user_id: string, deletes: boolean): number {
      const own = [...purchases.values()].filter((each) => each.user_id === user_id)
      for (const { user_id: _, ...stored } of own) {
        erased.add(stored.id)
        if (deletes) deleted.add(stored.id)
        if (deletes) purchases.delete(stored.id)
        else purchases.set(stored.id, stored)
        if (!deletes) continue
        for (const other of batches) {
          other.changes = other.changes.filter(({ id }) => id !== stored.id)
        }
      }
      return own.length
    },
    refund(id: string): 'refunded' | 'already' | undefined {
      const stored = purchases.get(id)
      if (!stored) return undefined
      if (stored.status === 'refunded') {
        oracle.record({ id, status: 'refunded' })
        return 'already'
      }
      const batch = newBatch(false)
      batch.changes.push({ id, before: stored.status, after: 'refunded', filled: [] })
      batches.push(batch)
      purchases.set(id, { ...stored, status: 'refunded' })
      return 'refunded'
    },
    deliver(id: string): string | undefined {
      const stored = purchases.get(id)
      if (!stored) return undefined
      if (stored.status !== 'purchased') return stored.status
      const isWaiting = deliveries.get(id) === false
      if (isWaiting) deliveries.set(id, true)
      return isWaiting ? 'delivered' : 'already'
    },
    /** The purchases, sorted by id. */
    list(): Row[] {
      const all = [...purchases.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
      return all.map(({ batch: _, ...row }) => JSON.parse(JSON.stringify(row)))
    },
    undelivered: () =>
      oracle
        .list()
        .filter(({ id, status }) => status === 'purchased' && deliveries.get(id) === false)
        .map(({ id }) => id),
  }
  return oracle
}

/** Sums rows. One without a price has that of its purchase. */
function totalsOf(rows: readonly Row[], purchases: ReadonlyMap<string, Row>): readonly string[] {
  const sums = new Map<string, { rows: number; total: number }>()
  for (const row of rows) {
    const { price, currency } = row.price === undefined ? (purchases.get(row.id) ?? row) : row
    const key = `${row.status} ${price === undefined ? '' : currency}`
    const { rows: count, total } = sums.get(key) ?? { rows: 0, total: 0 }
    sums.set(key, { rows: count + 1, total: total + (price ?? 0) })
  }
  return Array.from(sums, ([key, { rows, total }]) => `${key} ${rows} ${total}`).sort()
}
