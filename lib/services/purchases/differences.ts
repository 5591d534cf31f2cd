import { formatInstant } from '../../domain/instant.ts'
import type { NewPurchase, Purchase } from '../../domain/purchase.ts'
import {
  DIFFERENCES,
  type Difference,
  type DifferenceGroup,
  type DifferenceKind,
} from '../../domain/reconciliation.ts'

const MOST_LISTED = 1_000
const MOST_CURRENCIES = 100

/** Collects differences between the store and a file. Keeps only the first ones of each kind. */
export function createDifferences() {
  const groups = new Map<DifferenceKind, ReturnType<typeof createGroup>>()
  return {
    /** Without `stored`, the store lacks the purchase. Without `row`, the file lacks it. */
    add(kind: DifferenceKind, stored: Purchase | undefined, row?: NewPurchase) {
      const group = groups.get(kind) ?? createGroup(kind)
      groups.set(kind, group)
      group.add(stored, row)
    },
    count: (kind: DifferenceKind): number => groups.get(kind)?.size ?? 0,
    /** The kinds that were found, in the order of `DIFFERENCES`. */
    list: (): DifferenceGroup[] =>
      (Object.keys(DIFFERENCES) as DifferenceKind[]).flatMap((kind) => {
        return groups.get(kind)?.list() ?? []
      }),
  }
}

function createGroup(kind: DifferenceKind) {
  const sums = new Map<string, { purchases: number; stored: bigint; file: bigint }>()
  const first: Difference[] = []
  let size = 0
  const sumOf = ({ currency = '' }: Pick<NewPurchase, 'currency'> = {}) => {
    const sum = sums.get(currency) ?? { purchases: 0, stored: 0n, file: 0n }
    sums.set(currency, sum)
    return sum
  }
  return {
    get size() {
      return size
    },
    add(stored: Purchase | undefined, row: NewPurchase | undefined) {
      size++
      sumOf(stored ?? row).purchases++
      if (stored?.price) sumOf(stored).stored += BigInt(stored.price)
      if (row?.price) sumOf(row).file += BigInt(row.price)
      if (first.length < MOST_LISTED) first.push(differenceOf(kind, stored, row))
    },
    list(): DifferenceGroup {
      const all = [...sums].sort(([, a], [, b]) => b.purchases - a.purchases)
      const totals = all.slice(0, MOST_CURRENCIES).map(([currency, sum]) => ({
        currency,
        purchases: sum.purchases,
        stored_total: String(sum.stored),
        file_total: String(sum.file),
      }))
      return { kind, purchases: size, totals, first }
    },
  }
}

/** A copy without undefined fields, which shares no text with the file: see `copyText`. */
function differenceOf(
  kind: DifferenceKind,
  stored: Purchase | undefined,
  row: NewPurchase | undefined,
): Difference {
  const purchased_at = stored?.purchased_at ?? formatInstant(row?.purchased_at ?? 0)
  const { transaction_id } = (stored ?? row) as Purchase | NewPurchase
  const { line } = row ?? {}
  const sides = { stored: sideOf(stored), file: sideOf(row) }
  return JSON.parse(JSON.stringify({ kind, transaction_id, line, purchased_at, ...sides }))
}

function sideOf(purchase: Purchase | NewPurchase | undefined) {
  if (!purchase) return undefined
  const { sku, quantity, user_id, price, currency, status } = purchase
  return { sku, quantity, user_id, price, currency, status }
}
