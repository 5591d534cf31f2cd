import type { ItemTotal, PurchaseOverview } from '../../client/manage.ts'
import { PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import { useLoad } from '../data.ts'
import { formatMoney, formatShare } from '../format.ts'
import { Await } from '../parts/notice.tsx'
import { Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { client } from '../session.ts'

/** How many purchases have each status. */
export function Statuses({ figures }: { readonly figures: PurchaseOverview }) {
  const all = PURCHASE_STATUSES.reduce((sum, status) => sum + figures[status], 0)
  const rows = PURCHASE_STATUSES.map((status) => ({ status, purchases: figures[status] }))
  return (
    <Section title="Purchases by status">
      <Table
        label="Purchases by status"
        rows={rows.filter(({ purchases }) => purchases > 0)}
        columns={[
          'status',
          ['purchases', 'number end'],
          ['Share', ({ purchases }) => formatShare(purchases / all), 'number'],
        ]}
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
      sku,
      name: rows[0]?.display_name,
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
        columns={[
          ['Item', ({ sku, name }) => <a href={linkTo('items', '', { search: sku })}>{name}</a>],
          'sku',
          ['sold', 'number'],
          ['revenue', 'number end'],
        ]}
      />
    </Section>
  )
}

/** A count of the buyers in 10 million purchases takes a minute. */
const TIMEOUT = 600_000

/** How many players paid in a currency for the first time since a day, and how many had before. */
export function Buyers({ store_id, from }: { store_id: string; from: string | undefined }) {
  const query = { store_id, ...(from && { from }) }
  const loaded = useLoad(
    (signal) => client.purchases.buyers(query, { signal, timeout: TIMEOUT }),
    [store_id, from],
  )
  return (
    <Section title="Buyers">
      <Await loaded={loaded}>
        {({ buyers }) => (
          <Table
            label="Buyers"
            rows={buyers.toSorted((a, b) => b.new + b.returning - a.new - a.returning).slice(0, 4)}
            columns={[
              ['Currency', ({ currency }) => currency || 'without a price'],
              ['new', 'number end'],
              ['returning', 'number'],
            ]}
          />
        )}
      </Await>
    </Section>
  )
}
