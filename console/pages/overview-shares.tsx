import type { PurchaseOverview, PurchaseTotal } from '../../client/manage.ts'
import { PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import { formatCount, formatMoney } from '../format.ts'
import { Bars } from '../parts/bars.tsx'
import { Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'

/** How many purchases have each status. */
export function Statuses({ figures }: { readonly figures: PurchaseOverview }) {
  const counts = PURCHASE_STATUSES.map((status) => ({ status, count: figures[status] }))
  const all = counts.reduce((sum, { count }) => sum + count, 0)
  const share = (count: number) =>
    (count / (all || 1)).toLocaleString(undefined, { style: 'percent', maximumFractionDigits: 1 })
  return (
    <Section title="Purchases by status">
      <Bars
        label="Purchases by status"
        bars={counts.map(({ status, count }) => ({
          ...{ label: status, value: count, text: `${formatCount(count)} · ${share(count)}` },
        }))}
      />
      <details>
        <summary>Numbers</summary>
        <Table
          label="Purchases by status"
          rows={counts}
          keyOf={({ status }) => status}
          columns={[
            { label: 'Status', cell: ({ status }) => status },
            { label: 'Purchases', cell: ({ count }) => formatCount(count), isNumber: true },
            { label: 'Share', cell: ({ count }) => share(count), isNumber: true },
          ]}
        />
      </details>
    </Section>
  )
}

const SHOWN = 8
const LISTED = 50

/** The items with the most purchases. */
export function BestSellers({ rows }: { readonly rows: readonly PurchaseTotal[] }) {
  const sold = rows.filter(({ purchased }) => purchased > 0)
  const items = [...Map.groupBy(sold, ({ sku }) => sku ?? '')]
    .map(([sku, rows]) => ({
      sku,
      count: rows.reduce((sum, { purchased }) => sum + purchased, 0),
      revenue: rows
        .filter(({ currency }) => currency)
        .map(({ revenue, currency }) => formatMoney(revenue, currency))
        .join(', '),
    }))
    .sort((a, b) => b.count - a.count)
  return (
    <Section title="Best sellers">
      <Bars
        label="Best sellers"
        bars={items.slice(0, SHOWN).map(({ sku, count }) => ({
          ...{ label: sku, value: count, text: formatCount(count) },
        }))}
      />
      <details>
        <summary>Numbers</summary>
        <Table
          label="Best sellers"
          rows={items.slice(0, LISTED)}
          keyOf={({ sku }) => sku}
          columns={[
            { label: 'SKU', cell: ({ sku }) => <code>{sku}</code> },
            { label: 'Purchases', cell: ({ count }) => formatCount(count), isNumber: true },
            { label: 'Revenue', cell: ({ revenue }) => revenue || '–', isNumber: true },
          ]}
        />
      </details>
    </Section>
  )
}
