import type { ItemTotal, PurchaseOverview } from '../../client/manage.ts'
import { PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import { useLoad } from '../data.ts'
import { formatCount, formatMoney } from '../format.ts'
import { Bars } from '../parts/bars.tsx'
import { Await } from '../parts/notice.tsx'
import { Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { useClient } from '../session.ts'

/** How many purchases have each status. */
export function Statuses({ figures }: { readonly figures: PurchaseOverview }) {
  const all = PURCHASE_STATUSES.reduce((sum, status) => sum + figures[status], 0)
  const options = { style: 'percent', maximumFractionDigits: 1 } as const
  const share = (count: number) => (count / (all || 1)).toLocaleString(undefined, options)
  return (
    <Section title="Purchases by status">
      <Bars
        label="Purchases by status"
        bars={PURCHASE_STATUSES.filter((status) => figures[status] > 0).map((status) => ({
          ...{ label: status, value: figures[status] },
          text: `${formatCount(figures[status])} · ${share(figures[status])}`,
        }))}
      />
    </Section>
  )
}

const SHOWN = 10

/** The items with the most purchases, with their revenue in each currency. */
export function BestSellers({ rows }: { readonly rows: readonly ItemTotal[] }) {
  const sold = rows.filter(({ purchased }) => purchased > 0)
  const items = [...Map.groupBy(sold, ({ sku }) => sku ?? '')]
    .map(([sku, rows]) => ({
      ...{ sku, name: rows[0]?.display_name },
      sold: rows.reduce((sum, { purchased }) => sum + purchased, 0),
      revenue: rows
        .filter(({ currency }) => currency)
        .map(({ revenue, currency }) => formatMoney(revenue, currency))
        .join(', '),
    }))
    .sort((a, b) => b.sold - a.sold)
  return (
    <Section title="Best sellers">
      <Table
        label="Best sellers"
        rows={items.slice(0, SHOWN)}
        keyOf={({ sku }) => sku}
        columns={[
          ['Item', ({ sku, name }) => <a href={linkTo('items', '', { search: sku })}>{name}</a>],
          'sku',
          ['sold', 'number'],
          ['Revenue', ({ revenue }) => revenue || '–', 'number end'],
        ]}
      />
    </Section>
  )
}

interface BuyersProps {
  readonly store_id: string
  /** The first day of the period; undefined for all time. */
  readonly from: string | undefined
}

/** A count of the buyers in 10 million purchases takes a minute. */
const TIMEOUT = 600_000

/** How many players paid in a currency for the first time, and how many had paid before. */
export function Buyers({ store_id, from }: BuyersProps) {
  const client = useClient()
  const query = { store_id, ...(from && { from }) }
  const loaded = useLoad(
    (signal) => client.purchases.buyers(query, { signal, timeout: TIMEOUT }),
    [store_id, from],
  )
  return (
    <Section title="New buyers">
      <Await loaded={loaded}>
        {({ buyers }) => {
          const rows = buyers
            .map(({ currency, ...counts }) => ({
              ...counts,
              currency: currency || 'without a price',
              buyers: counts.new + counts.returning,
            }))
            .sort((a, b) => b.buyers - a.buyers)
          return (
            <Bars
              label="New buyers"
              bars={rows
                .slice(0, 4)
                .flatMap(({ currency, new: fresh, returning }) => [
                  { label: `new, ${currency}`, value: fresh },
                  { label: `returning, ${currency}`, value: returning },
                ])
                .filter(({ value }) => value > 0)
                .map((bar) => ({ ...bar, text: formatCount(bar.value) }))}
            />
          )
        }}
      </Await>
    </Section>
  )
}
