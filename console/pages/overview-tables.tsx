import type { PurchaseOverview, PurchaseTotal } from '../../client/manage.ts'
import { PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import { useLoad } from '../data.ts'
import { formatCount, formatMoney, formatShare } from '../format.ts'
import { type Column, Facts, Section, Text } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { client } from '../session.ts'
import type { Span } from './periods.ts'

interface TotalsProps {
  /** The total of one currency. */
  readonly total: PurchaseTotal
  /** The totals of the days before; undefined if there are none to compare with. */
  readonly earlier: readonly PurchaseTotal[] | undefined
  readonly before: Span['before']
}

type Format = (value: string | number) => string

/** The revenue, refunds and purchases in one currency, compared with those of the days before. */
export function Totals({ total, earlier, before }: TotalsProps) {
  const { currency } = total
  const then = earlier?.find((each) => each.currency === currency)
  const isFew = (then?.purchased ?? 0) < FEW
  const figure = (name: 'revenue' | 'refunded_total' | 'purchased', format: Format) => (
    <>
      <span class="figure">{format(total[name])}</span>
      {before && earlier && (
        <span class="hint">
          <bdi>{compare(Number(total[name]), Number(then?.[name] ?? 0), isFew)}</bdi>{' '}
          {then?.[name] === total[name] ? 'as in' : 'from'} {before.name} (
          {format(then?.[name] ?? 0)})
        </span>
      )}
    </>
  )
  const money: Format = (minor) => formatMoney(minor, currency)
  return (
    <Facts
      of={total}
      fields={[
        ['Revenue', () => figure('revenue', money)],
        ['Refunded', () => figure('refunded_total', money)],
        ['Purchases', () => figure('purchased', (count) => formatCount(Number(count)))],
      ]}
    />
  )
}

/** A comparison with fewer purchases shows no percentage. */
const FEW = 10

/** `+12.5%`, or only the direction if the value before is almost nothing. */
function compare(now: number, before: number, isFew: boolean): string {
  if (now === before) return 'Same'
  const isUseful = !isFew && before > 0 && now <= 10 * before
  if (!isUseful) return now > before ? 'Up' : 'Down'
  return formatShare((now - before) / before, 'exceptZero')
}

/** How many purchases have each status: `1,200 purchased · 3 refunded`. */
export function Statuses({ figures }: { readonly figures: PurchaseOverview }) {
  const all = PURCHASE_STATUSES.filter((status) => figures[status] > 0)
  const texts = all.map((status) => `${formatCount(figures[status])} ${status}`)
  return <p class="muted">In all currencies: {texts.join(' · ')}</p>
}

/** The revenue in each currency, with links that choose the one of the page. */
export function Currencies({ figures, chosen }: { figures: PurchaseOverview; chosen: string }) {
  const { query } = usePlace()
  const { currencies, currency_count } = figures
  const more = currency_count - currencies.length
  if (currency_count < 2) return null
  return (
    <Section title="Revenue by currency">
      <Table
        label="Revenue by currency"
        rows={currencies}
        columns={[
          [
            'Currency',
            ({ currency }) =>
              currency ? (
                <a
                  href={linkTo('overview', '', { ...query, currency })}
                  aria-current={currency === chosen && 'true'}
                >
                  {currency}
                </a>
              ) : (
                'without a price'
              ),
          ],
          ['purchased', 'number'],
          ['Refunded', ({ refunded_total: sum, currency }) => amount(sum, currency), 'number'],
          ['Revenue', ({ revenue, currency }) => amount(revenue, currency), 'number end'],
        ]}
      />
      {more > 0 && <p>And {formatCount(more)} more.</p>}
    </Section>
  )
}

function amount(minor: string, currency: string): string {
  return currency ? formatMoney(minor, currency) : '–'
}

const SHOWN = 10

interface BestProps {
  readonly figures: PurchaseOverview
  /** The currency of the revenues. */
  readonly currency: string
}

/** The items that were sold most in all currencies. */
export function BestSellers({ figures: { items }, currency }: BestProps) {
  const link = (search: string) => linkTo('items', '', { search })
  return (
    <Section title="Best sellers" actions={<Units currency={currency} />}>
      <Table
        label="Best sellers"
        rows={items.filter(({ purchased }) => purchased > 0).slice(0, SHOWN)}
        columns={[
          ['Item', ({ sku, display_name }) => <Text isName text={display_name} href={link(sku)} />],
          ...soldIn(currency),
        ]}
      />
    </Section>
  )
}

/** The totals of each store. */
export function Stores({ figures: { stores }, currency }: BestProps) {
  const link = (store: string) => linkTo('overview', '', { project: undefined, store })
  return (
    <Section title="Stores" actions={<Units currency={currency} />}>
      <Table
        label="Stores"
        rows={stores}
        columns={[
          ['Store', ({ store_id: store }) => <Text text={store} href={link(store)} />],
          ...soldIn(currency),
        ]}
      />
    </Section>
  )
}

function Units({ currency }: { readonly currency: string }) {
  return <span class="hint">Sold in all currencies, revenue in {currency}</span>
}

type Group = PurchaseOverview['items'][number] | PurchaseOverview['stores'][number]

/** The columns of a group: how many were sold in all currencies, and the revenue in one. */
function soldIn<G extends Group>(currency: string): Column<G>[] {
  const revenue = ({ currencies }: G) =>
    currencies.find((each) => each.currency === currency)?.revenue ?? '0'
  return [
    ['Sold', ({ purchased }) => formatCount(purchased), 'number'],
    ['Revenue', (group) => formatMoney(revenue(group), currency), 'number end'],
  ]
}

/** A count of the buyers in 10 million purchases takes a minute. */
const TIMEOUT = 600_000

/**
 * How many players paid in a currency for the first time since a day, and how many had before.
 * Nothing if the purchases have no users.
 */
export function Buyers({ store_id, from }: { store_id: string; from: string | undefined }) {
  const query = { store_id, ...(from && { from }) }
  const { value } = useLoad(
    (signal) => client.purchases.buyers(query, { signal, timeout: TIMEOUT }),
    [store_id, from],
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
          ['new', 'number end'],
        ]}
      />
    </Section>
  )
}
