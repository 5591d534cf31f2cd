import type { ItemTotal, PurchaseOverview, PurchaseTotal, StoreTotal } from '../../client/manage.ts'
import { PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import { useLoad } from '../data.ts'
import { formatCount, formatMoney, formatShare } from '../format.ts'
import { type Column, Facts, Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { client } from '../session.ts'
import type { Span } from './periods.ts'

type Total = Pick<PurchaseTotal, 'currency' | 'revenue' | 'refunded_total' | 'purchased'>

interface TotalsProps {
  /** The totals by currency, of the span and of the days before. */
  readonly totals: readonly Total[]
  readonly earlier: readonly Total[]
  readonly before: Span['before']
  readonly currency: string
}

/** The revenue, refunds and purchases in one currency, compared with those of the days before. */
export function Totals({ totals, earlier, before, currency }: TotalsProps) {
  const none = { currency, revenue: '0', refunded_total: '0', purchased: 0 }
  const of = (all: readonly Total[]) => all.find((each) => each.currency === currency) ?? none
  const [now, then] = [of(totals), of(earlier)]
  const show = (value: string | number) =>
    typeof value === 'string' ? formatMoney(value, currency) : formatCount(value)
  const figure = (name: keyof Total) => (
    <>
      <span class="figure">{show(now[name])}</span>
      {before && (
        <span class="hint">
          <bdi>{compare(Number(now[name]), Number(then[name]), then.purchased)}</bdi>{' '}
          {now[name] === then[name] ? 'as in' : 'from'} {before.name} ({show(then[name])})
        </span>
      )}
    </>
  )
  return (
    <Facts
      of={now}
      fields={[
        ['Revenue', () => figure('revenue')],
        ['Refunded', () => figure('refunded_total')],
        ['Purchases', () => figure('purchased')],
      ]}
    />
  )
}

/** A comparison with fewer purchases shows no percentage. */
const FEW = 10

/** `+12.5%`, or only the direction if the value before is almost nothing. */
function compare(now: number, before: number, purchased: number): string {
  if (now === before) return 'Same'
  const isUseful = purchased >= FEW && before > 0 && now <= 10 * before
  if (!isUseful) return now > before ? 'Up' : 'Down'
  return formatShare((now - before) / before, 'exceptZero')
}

/** How many purchases have each status: `1,200 purchased · 3 refunded`. */
export function Statuses({ figures }: { readonly figures: PurchaseOverview }) {
  const all = PURCHASE_STATUSES.filter((status) => figures[status] > 0)
  const texts = all.map((status) => `${formatCount(figures[status])} ${status}`)
  return <p class="muted">In all currencies: {texts.join(' · ')}</p>
}

/** The revenue in each currency. */
export function Currencies({ currencies, currency_count }: PurchaseOverview) {
  const more = currency_count - currencies.length
  if (currency_count < 2) return null
  return (
    <Section title="Revenue by currency">
      <Table
        label="Revenue by currency"
        rows={currencies}
        columns={[
          ['Currency', ({ currency }) => currency || 'without a price'],
          ['purchased', 'number'],
          ['Refunded', ({ refunded_total: sum, currency }) => amount(sum, currency), 'number'],
          ['Revenue', ({ revenue, currency }) => amount(revenue, currency), 'number end'],
        ]}
      />
      {more > 0 && <p>And {formatCount(more)} more.</p>}
    </Section>
  )
}

/** An amount; a dash if nothing was sold in the currency, or without a price. */
function amount(minor: string | undefined, currency: string): string {
  return minor && currency ? formatMoney(minor, currency) : '–'
}

interface SoldProps<G> {
  readonly title: string
  /** The items or the stores. */
  readonly rows: readonly G[]
  readonly name: Column<G>
  readonly currency: string
}

/** How many each item or store has sold in all currencies, and its revenue in one. */
export function Sold<G extends ItemTotal | StoreTotal>({
  title,
  rows,
  name,
  currency,
}: SoldProps<G>) {
  const totalOf = ({ currencies }: G) => currencies.find((each) => each.currency === currency)
  return (
    <Section
      title={title}
      actions={<span class="hint">Sold in all currencies, revenue in {currency}</span>}
    >
      <Table
        label={title}
        rows={rows}
        columns={[
          name,
          ['Sold', ({ purchased }) => formatCount(purchased), 'number'],
          ['Revenue', (group) => amount(totalOf(group)?.revenue, currency), 'number end'],
        ]}
      />
    </Section>
  )
}

/** A count of the buyers in 10 million purchases takes a minute. */
const TIMEOUT = 600_000

/**
 * How many players paid in a currency for the first time since a day, and how many had before.
 * Nothing if the purchases have no users.
 */
export function Buyers({ store_id, from }: { store_id: string; from: string | undefined }) {
  const { value } = useLoad(
    (query, options) => client.purchases.buyers(query, { ...options, timeout: TIMEOUT }),
    { store_id, from },
  )
  const counted = value?.buyers.filter((each) => each.new + each.returning > 0) ?? []
  if (counted.length === 0) return null
  return (
    <Section title="Buyers">
      <Table
        label="Buyers"
        rows={counted.toSorted((a, b) => b.new + b.returning - a.new - a.returning).slice(0, 4)}
        columns={[
          ['Currency', ({ currency }) => currency || 'without a price'],
          ['returning', 'number'],
          ['new', 'number'],
        ]}
      />
    </Section>
  )
}
